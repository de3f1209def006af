/** Finds the fastest variants by timing and caches them. */
@NullMarked
package dev.athanor.ops.tune;

import org.jspecify.annotations.NullMarked;
