package dev.athanor.vulkan.spirv;

import java.util.Arrays;

/** A growing sequence of SPIR-V instructions. */
final class Words {

  private int[] words = new int[256];
  private int size;

  /** Appends an instruction. Its first word has its length and opcode. */
  void instruction(int opcode, int... operands) {
    append((operands.length + 1) << 16 | opcode);
    for (int operand : operands) {
      append(operand);
    }
  }

  void append(int word) {
    if (size == words.length) {
      words = Arrays.copyOf(words, 2 * size);
    }
    words[size++] = word;
  }

  void appendAll(Words other) {
    for (int i = 0; i < other.size; i++) {
      append(other.words[i]);
    }
  }

  int[] toArray() {
    return Arrays.copyOf(words, size);
  }
}
