/** A server of the Debug Adapter Protocol for kernels on the emulator. */
@NullMarked
package dev.athanor.cli.debug;

import org.jspecify.annotations.NullMarked;
