/** Benchmarks of ops, including checks of their results. */
@NullMarked
package dev.athanor.ops.bench;

import org.jspecify.annotations.NullMarked;
