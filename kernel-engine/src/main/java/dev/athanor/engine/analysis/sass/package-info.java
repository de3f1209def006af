/**
 * Reads the machine code (SASS) of NVIDIA GPUs from cubins: its instructions, its loops, and what
 * the loops spend beside the matrix instructions.
 *
 * <p>NVIDIA documents the names of the instructions (CUDA Binary Utilities, chapter 4) but not
 * their encoding. The opcodes here were read off cubins of sm_75 to sm_120 with {@code nvdisasm};
 * the tests compare the two where {@code nvdisasm} is installed.
 */
@NullMarked
package dev.athanor.engine.analysis.sass;

import org.jspecify.annotations.NullMarked;
