package dev.athanor.engine.emulator.jit;

/**
 * Accesses of compiled code to shared memory: an array of 32-bit words, whose own bounds checks
 * detect accesses out of bounds.
 */
final class SharedWords {

  private SharedWords() {}

  /**
   * Returns an address as an int.
   *
   * @throws Bailout if it is above any shared memory or no multiple of {@code bytes}, a power of
   *     two
   */
  static int address(long address, int bytes) {
    if (address < 0 || address > Integer.MAX_VALUE - bytes || (address & (bytes - 1)) != 0) {
      throw new Bailout();
    }
    return (int) address;
  }

  /**
   * Checks the alignment of an address.
   *
   * @throws Bailout if it is no multiple of {@code bytes}, a power of two
   */
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
