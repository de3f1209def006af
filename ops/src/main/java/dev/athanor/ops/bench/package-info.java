/** Measures how fast ops are, and that they are right while they are fast. */
@NullMarked
package dev.athanor.ops.bench;

import org.jspecify.annotations.NullMarked;
