package dev.athanor.ops;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.List;

/**
 * Decoders of the GGML formats, in which the weights of a block share scales, and of NF4. The table
 * of NF4 is that of QLoRA (arXiv 2305.14314, appendix E). As in bitsandbytes, the high nibble of a
 * byte holds the first of two values. MXFP4 has the numbers of the OCP microscaling formats (MX
 * v1.0), except that the exponent 255, NaN there, means 2^128 as in GGML.
 */
public final class Blocks {

  private static final ValueLayout.OfShort SHORT =
      ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfInt INT =
      ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfFloat FLOAT =
      ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  /** The quantiles of the normal distribution that NF4 indices select. */
  private static final float[] NF4_TABLE = {
    -1.0f, -0.6961928f, -0.52507305f, -0.3949175f,
    -0.28444138f, -0.18477343f, -0.091050036f, 0.0f,
    0.0795803f, 0.1609302f, 0.2461123f, 0.33791524f,
    0.44070983f, 0.562617f, 0.72295684f, 1.0f
  };

  /** The numbers that the nibbles of IQ4_NL and IQ4_XS select. */
  private static final List<Integer> IQ4_TABLE =
      List.of(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113);

  /** Twice the numbers of E2M1, which has one fraction bit and an exponent bias of 1. */
  private static final List<Integer> E2M1_TABLE =
      List.of(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);

  private Blocks() {}

  /**
   * Returns the byte offsets of a block's floating-point scales: f32 for NF4, an exponent for
   * MXFP4, f16 for the others.
   */
  static int[] scales(DType format) {
    return switch (format) {
      case Q4_0, Q5_0, Q8_0, IQ4_NL, IQ4_XS, MXFP4, NF4 -> new int[] {0};
      case Q4_1, Q4_K, Q5_K -> new int[] {0, 2};
      case Q6_K -> new int[] {208};
      default -> throw new IllegalArgumentException(format.text() + " is not a block format");
    };
  }

  /**
   * Returns the sixteen integers that the nibbles of IQ4_NL, IQ4_XS or MXFP4 select; those of MXFP4
   * are doubled, so its scale is halved.
   */
  public static List<Integer> table(DType format) {
    return format == DType.MXFP4 ? E2M1_TABLE : IQ4_TABLE;
  }

  /** Returns the unscaled value of an NF4 index from 0 to 15. */
  public static double nf4(int index) {
    return NF4_TABLE[index];
  }

  /** Returns element {@code i} of a block. */
  static double read(DType format, MemorySegment block, int i) {
    return switch (format) {
      case Q4_0 -> half(block, 0) * (nibble(block, 2, i, 16) - 8);
      case Q4_1 -> half(block, 0) * nibble(block, 4, i, 16) + half(block, 2);
      case Q5_0 -> {
        int fifth = (block.get(INT, 2) >>> i) & 1;
        yield half(block, 0) * ((nibble(block, 6, i, 16) | (fifth << 4)) - 16);
      }
      case Q8_0 -> half(block, 0) * block.get(JAVA_BYTE, 2 + i);
      case Q4_K -> super4(block, 16, i, 0);
      case Q5_K -> super4(block, 48, i, ((unsigned(block, 16 + i % 32) >> (i / 32)) & 1) << 4);
      case Q6_K -> {
        int inHalf = i % 128;
        int group = inHalf / 32;
        int lane = i % 32;
        int low =
            (unsigned(block, i / 128 * 64 + 32 * (group & 1) + lane) >> (group < 2 ? 0 : 4)) & 15;
        int high = (unsigned(block, 128 + i / 128 * 32 + lane) >> (2 * group)) & 3;
        yield half(block, 208) * block.get(JAVA_BYTE, 192 + i / 16) * ((low | (high << 4)) - 32);
      }
      case IQ4_NL -> half(block, 0) * IQ4_TABLE.get(nibble(block, 2, i, 16));
      case IQ4_XS -> {
        int sub = i / 32;
        int low = (unsigned(block, 4 + sub / 2) >> (4 * (sub % 2))) & 15;
        int high = (unsigned(block, 2 + sub / 4) >> (2 * (sub % 4))) & 3;
        int entry = IQ4_TABLE.get(nibble(block, 8 + 16 * sub, i % 32, 16));
        yield half(block, 0) * ((low | (high << 4)) - 32) * entry;
      }
      case MXFP4 ->
          Math.scalb((double) E2M1_TABLE.get(nibble(block, 1, i, 16)), unsigned(block, 0) - 128);
      case NF4 ->
          (double) block.get(FLOAT, 0)
              * NF4_TABLE[(unsigned(block, 4 + i / 2) >> (i % 2 == 0 ? 4 : 0)) & 15];
      default -> throw new IllegalArgumentException(format.text() + " is not a block format");
    };
  }

  /**
   * Returns element {@code i} of a block of 256 with 6-bit scales; {@code fifth} is added to its
   * nibble.
   */
  private static double super4(MemorySegment block, int quants, int i, int fifth) {
    int sub = i / 32;
    int nibble = (unsigned(block, quants + sub / 2 * 32 + i % 32) >> (4 * (sub % 2))) & 15;
    int scale;
    int least;
    if (sub < 4) {
      scale = unsigned(block, 4 + sub) & 63;
      least = unsigned(block, 8 + sub) & 63;
    } else {
      int shared = unsigned(block, 8 + sub);
      scale = (shared & 15) | ((unsigned(block, sub) >> 6) << 4);
      least = (shared >> 4) | ((unsigned(block, 4 + sub) >> 6) << 4);
    }
    return half(block, 0) * scale * (nibble | fifth) - half(block, 2) * least;
  }

  /** Returns a value; low nibbles hold the first half of the values, high nibbles the second. */
  private static int nibble(MemorySegment block, int at, int i, int half) {
    return (unsigned(block, at + i % half) >> (i < half ? 0 : 4)) & 15;
  }

  private static double half(MemorySegment block, int at) {
    return Float.float16ToFloat(block.get(SHORT, at));
  }

  private static int unsigned(MemorySegment block, int at) {
    return block.get(JAVA_BYTE, at) & 0xFF;
  }
}
