/** Kernels written as typed values: Java's own loops unroll, the builder's loop on the device. */
@NullMarked
package dev.athanor.engine.author;

import org.jspecify.annotations.NullMarked;
