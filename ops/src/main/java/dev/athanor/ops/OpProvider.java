package dev.athanor.ops;

import java.util.List;

/**
 * Contributes ops to the {@link Catalogue}. {@link java.util.ServiceLoader} finds providers: a jar
 * names its provider in {@code META-INF/services/dev.athanor.ops.OpProvider}.
 */
public interface OpProvider {

  /** Returns the ops; their names must be unique. */
  List<Op> ops();
}
