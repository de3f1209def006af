/** A debugger of kernels on the emulator: run control, breakpoints, inspection and replay. */
@NullMarked
package dev.athanor.engine.debug;

import org.jspecify.annotations.NullMarked;
