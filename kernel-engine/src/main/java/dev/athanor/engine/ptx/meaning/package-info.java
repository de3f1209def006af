/** Meanings of instructions: lane functions, number formats, and sums of tensor cores. */
@NullMarked
package dev.athanor.engine.ptx.meaning;

import org.jspecify.annotations.NullMarked;
