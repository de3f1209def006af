package dev.athanor.engine.lift.library;

/** The bits of 2/pi that reduce the largest double. */
final class TwoOverPi {
  private TwoOverPi() {}

  /** Returns 64 bits of 2/pi, from a position on. The first 64 bits are those before the point. */
  static long bits(int position) {
    int shift = position & 63;
    int word = position >> 6;
    return (word(word) << shift) | (word(word + 1) >>> 1 >>> (63 - shift));
  }

  private static long word(int index) {
    return switch (index) {
      case 1 -> 0xa2f9836e4e441529L;
      case 2 -> 0xfc2757d1f534ddc0L;
      case 3 -> 0xdb6295993c439041L;
      case 4 -> 0xfe5163abdebbc561L;
      case 5 -> 0xb7246e3a424dd2e0L;
      case 6 -> 0x06492eea09d1921cL;
      case 7 -> 0xfe1deb1cb129a73eL;
      case 8 -> 0xe88235f52ebb4484L;
      case 9 -> 0xe99c7026b45f7e41L;
      case 10 -> 0x3991d639835339f4L;
      case 11 -> 0x9c845f8bbdf9283bL;
      case 12 -> 0x1ff897ffde05980fL;
      case 13 -> 0xef2f118b5a0a6d1fL;
      case 14 -> 0x6d367ecf27cb09b7L;
      case 15 -> 0x4f463f669e5fea2dL;
      case 16 -> 0x7527bac7ebe5f17bL;
      case 17 -> 0x3d0739f78a5292eaL;
      case 18 -> 0x6bfb5fb11f8d5d08L;
      case 19 -> 0x56033046fc7b6babL;
      default -> 0;
    };
  }
}
