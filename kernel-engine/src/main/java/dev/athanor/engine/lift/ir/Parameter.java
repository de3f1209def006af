package dev.athanor.engine.lift.ir;

import java.util.List;

/**
 * A parameter of the Java method.
 *
 * @param name as in Java
 * @param arguments what the kernel takes for it: those of each component of a record, otherwise one
 */
public record Parameter(String name, Class<?> type, List<Argument> arguments) {}
