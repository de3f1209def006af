package dev.athanor.engine.lift.optimize;

import dev.athanor.engine.lift.analysis.Alignment;
import dev.athanor.engine.lift.ir.Access;
import dev.athanor.engine.lift.ir.Value;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/**
 * Loads or stores from one address that differ only in their offsets.
 *
 * @param byOffset the loads or stores by their offsets in bytes
 */
record Neighbors(Key key, Map<Long, Value> byOffset) {
  private static final int[] COUNTS = {4, 2};

  /**
   * What the loads or stores have in common.
   *
   * @param access theirs, at the offset 0
   */
  record Key(Value address, Access access) {
    static Key of(Value value) {
      var access = value.attribute(Access.class);
      return new Key(value.input(0), access.plus(-access.offset()));
    }
  }

  Neighbors(Key key) {
    this(key, new HashMap<>());
  }

  static long offset(Value value) {
    return value.attribute(Access.class).offset();
  }

  /**
   * Removes the loads or stores that vector instructions can do, and returns those of each vector:
   * two or four adjacent elements whose address is a multiple of their size.
   */
  List<List<Value>> takeVectors(Alignment alignment) {
    var vectors = new ArrayList<List<Value>>();
    int bytes = key.access.element().bytes();
    int aligned = byOffset.size() < 2 ? 0 : alignment.of(key.address);
    for (int count : COUNTS) {
      int size = count * bytes;
      for (long offset : new TreeSet<>(byOffset.keySet())) {
        if (size <= aligned && offset % size == 0) {
          var vector = adjacent(offset, count, bytes);
          if (vector.size() == count) {
            vector.forEach(value -> byOffset.remove(offset(value)));
            vectors.add(vector);
          }
        }
      }
    }
    return vectors;
  }

  private List<Value> adjacent(long offset, int count, int bytes) {
    var found = new ArrayList<Value>();
    for (int i = 0; i < count; i++) {
      var value = byOffset.get(offset + (long) i * bytes);
      if (value != null) {
        found.add(value);
      }
    }
    return found;
  }
}
