/** Finds the fastest variant by timing, and remembers it. */
@NullMarked
package dev.athanor.ops.tune;

import org.jspecify.annotations.NullMarked;
