package dev.athanor.ops;

import java.util.List;

/**
 * Brings ops to the {@link Catalogue}. Providers are found through {@link java.util.ServiceLoader}:
 * a jar that has one names it in {@code META-INF/services/dev.athanor.ops.OpProvider}.
 */
public interface OpProvider {

  /** The ops, each with a name that no other op has. */
  List<Op> ops();
}
