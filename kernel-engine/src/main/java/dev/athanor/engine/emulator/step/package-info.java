/** Blocks, and the steps that execute one instruction for the lanes of a block. */
@NullMarked
package dev.athanor.engine.emulator.step;

import org.jspecify.annotations.NullMarked;
