/** Decoded programs, and the binder that ties their instructions to steps. */
@NullMarked
package dev.athanor.engine.emulator.program;

import org.jspecify.annotations.NullMarked;
