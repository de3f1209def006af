/** Kernels written as plain Java methods: for GPUs, for the emulator, and for the JVM. */
@NullMarked
package dev.athanor.engine.lift;

import org.jspecify.annotations.NullMarked;
