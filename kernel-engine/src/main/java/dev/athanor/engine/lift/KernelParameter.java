package dev.athanor.engine.lift;

/**
 * A parameter of a kernel.
 *
 * @param name as in the source, if the class file was compiled with {@code -g}; p0, p1, … otherwise
 * @param isWritten whether it is or has an array or segment that the kernel writes
 */
public record KernelParameter(String name, Class<?> type, boolean isWritten) {}
