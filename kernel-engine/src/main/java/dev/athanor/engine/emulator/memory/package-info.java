/** Device memory, shared memory and registers, and how the lanes of a warp access them. */
@NullMarked
package dev.athanor.engine.emulator.memory;

import org.jspecify.annotations.NullMarked;
