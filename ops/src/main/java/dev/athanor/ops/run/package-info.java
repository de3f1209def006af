/** Runs plans for callers. */
@NullMarked
package dev.athanor.ops.run;

import org.jspecify.annotations.NullMarked;
