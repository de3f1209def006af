/** Kernels written as Java methods, run in plain Java: one thread for each GPU thread. */
@NullMarked
package dev.athanor.engine.lift.host;

import org.jspecify.annotations.NullMarked;
