/** Matrix products. */
@NullMarked
package dev.athanor.ops.row;

import org.jspecify.annotations.NullMarked;
