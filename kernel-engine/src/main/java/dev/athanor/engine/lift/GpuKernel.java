package dev.athanor.engine.lift;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks a static method as a kernel. Its parameters are int, long, float, double, boolean, byte,
 * short, char, arrays of these, and {@link java.lang.foreign.MemorySegment}; it returns void.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
public @interface GpuKernel {

  /**
   * Threads of a block: one to three extents. Empty if each launch gives them; a declared shape
   * makes {@link Gpu#blockDimX} a constant.
   */
  int[] blockSize() default {};

  /**
   * Minimum number of blocks that a multiprocessor holds at once, for which the assembler limits
   * the registers of a thread; 0 for no limit. It needs a {@link #blockSize}.
   */
  int minBlocks() default 0;

  /** Name of the kernel in PTX, an identifier; empty for the name of the method. */
  String name() default "";
}
