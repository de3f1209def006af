package dev.athanor.vulkan.spirv;

import dev.athanor.engine.ptx.Variable;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** The constants of a kernel, one after another in memory. */
final class Constants {

  private final Map<String, Integer> offsets;
  private final int[] words;

  private Constants(Map<String, Integer> offsets, int[] words) {
    this.offsets = offsets;
    this.words = words;
  }

  /** Returns where each constant starts, in bytes. */
  Map<String, Integer> offsets() {
    return offsets;
  }

  /** Returns the words of all constants. */
  IntStream words() {
    return Arrays.stream(words);
  }

  static Constants of(List<Variable> variables) {
    var offsets = new HashMap<String, Integer>();
    int size = 0;
    for (var variable : variables) {
      int start = align(size, variable.alignment());
      offsets.put(variable.name(), start);
      size = start + Math.toIntExact(variable.bytes());
    }
    var bytes = ByteBuffer.allocate(align(size, Long.BYTES)).order(ByteOrder.LITTLE_ENDIAN);
    for (var variable : variables) {
      int at = offsets.getOrDefault(variable.name(), 0);
      for (var each : variable.initializers()) {
        long bits = each.number().bits();
        switch (variable.type().bytes()) {
          case 1 -> bytes.put(at, (byte) bits);
          case 2 -> bytes.putShort(at, (short) bits);
          case 4 -> bytes.putInt(at, (int) bits);
          default -> bytes.putLong(at, bits);
        }
        at += variable.type().bytes();
      }
    }
    var words = new int[bytes.capacity() / Integer.BYTES];
    bytes.asIntBuffer().get(words);
    return new Constants(offsets, words);
  }

  private static int align(int bytes, int alignment) {
    return Math.ceilDiv(bytes, alignment) * alignment;
  }
}
