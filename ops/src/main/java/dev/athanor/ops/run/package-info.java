/** Plans as callers run them. */
@NullMarked
package dev.athanor.ops.run;

import org.jspecify.annotations.NullMarked;
