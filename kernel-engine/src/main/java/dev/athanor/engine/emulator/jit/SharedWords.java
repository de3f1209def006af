package dev.athanor.engine.emulator.jit;

/**
 * How compiled code touches shared memory: an array of 32-bit words, whose own check of indices is
 * that of the bounds.
 */
final class SharedWords {

  private SharedWords() {}

  /**
   * An address as a signed number.
   *
   * @throws Bailout when it lies beyond any shared memory, or is no multiple of {@code bytes}
   */
  static int address(long address, int bytes) {
    if (address < 0 || address > Integer.MAX_VALUE - bytes || (address & (bytes - 1)) != 0) {
      throw new Bailout();
    }
    return (int) address;
  }

  /** Complains of an address that is no multiple of a power of two. */
  static void align(int address, int bytes) {
    if ((address & (bytes - 1)) != 0) {
      throw new Bailout();
    }
  }

  static int load8(int[] words, int address) {
    return (words[address >> 2] >>> (8 * address)) & 0xFF;
  }

  static int load16(int[] words, int address) {
    return (words[address >> 2] >>> (8 * address)) & 0xFFFF;
  }

  static int load32(int[] words, int address) {
    return words[address >> 2];
  }

  static long load64(int[] words, int address) {
    return (words[address >> 2] & 0xFFFF_FFFFL) | ((long) words[(address >> 2) + 1] << 32);
  }

  static void store8(int[] words, int address, int value) {
    int word = words[address >> 2];
    words[address >> 2] = (word & ~(0xFF << (8 * address))) | ((value & 0xFF) << (8 * address));
  }

  static void store16(int[] words, int address, int value) {
    int word = words[address >> 2];
    words[address >> 2] = (word & ~(0xFFFF << (8 * address))) | ((value & 0xFFFF) << (8 * address));
  }

  static void store32(int[] words, int address, int value) {
    words[address >> 2] = value;
  }

  static void store64(int[] words, int address, long value) {
    words[(address >> 2) + 1] = (int) (value >>> 32);
    words[address >> 2] = (int) value;
  }
}
