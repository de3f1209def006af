package dev.athanor.engine.emulator.async;

import dev.athanor.engine.device.TensorMap.SwizzleMode;
import dev.athanor.engine.layout.Swizzle;
import java.util.List;

/**
 * A factor of {@code wgmma} or {@code tcgen05.mma} in shared memory, as its descriptor describes it
 * (PTX ISA 9.7.15.5.1, 9.7.16.4.1). The matrix consists of core matrices of 8 rows of 16 bytes, or
 * of the width of the swizzle. The outer dimension of A is m, that of B is n; the other dimension
 * is k.
 *
 * @param start the address of the first element
 * @param leading bytes from one core matrix to the next: along k without a swizzle; along the outer
 *     dimension for a swizzled matrix that is not contiguous along k
 * @param stride bytes from one core matrix to the next in the other dimension
 * @param byDepth whether elements are contiguous along k
 * @param size bytes of an element
 */
public record SharedMatrix(
    long start, long leading, long stride, SwizzleMode swizzle, boolean byDepth, int size) {

  private static final int CORE = 8;
  private static final int UNIT = 16;
  private static final long FIELD = 0x3FFF;
  private static final List<SwizzleMode> SWIZZLES =
      Swizzle.BY_DESCRIPTOR.stream().map(SwizzleMode::of).toList();

  /**
   * Decodes a descriptor.
   *
   * @throws IllegalArgumentException if the matrix starts within the repeat of its swizzle
   */
  static SharedMatrix of(long descriptor, boolean byDepth, int size) {
    long base = (descriptor >>> 49) & 7;
    if (base != 0) {
      throw new IllegalArgumentException(
          "the descriptor 0x%016x has the base offset %d; only 0 is supported, which is that of"
                  .formatted(descriptor, base)
              + " matrices aligned to the repeat of their swizzle");
    }
    return new SharedMatrix(
        (descriptor & FIELD) * UNIT,
        ((descriptor >>> 16) & FIELD) * UNIT,
        ((descriptor >>> 32) & FIELD) * UNIT,
        SWIZZLES.get((int) (descriptor >>> 62)),
        byDepth,
        size);
  }

  /**
   * Decodes a descriptor of {@code tcgen05.mma}, which also has constant bits.
   *
   * @throws IllegalArgumentException if they differ, the matrix starts within the repeat of its
   *     swizzle, or the swizzle exchanges 32-byte units
   */
  static SharedMatrix ofTensorMemoryProduct(long descriptor, boolean byDepth, int size) {
    if (((descriptor >>> 46) & 7) != 1 || ((descriptor >>> 52) & 0x1FF) != 0) {
      throw new IllegalArgumentException(
          "the descriptor 0x%016x has the bits %d%d%d in 46..48 and 0x%x in 52..60; 001 and 0 are"
                  .formatted(
                      descriptor,
                      (descriptor >>> 48) & 1,
                      (descriptor >>> 47) & 1,
                      (descriptor >>> 46) & 1,
                      (descriptor >>> 52) & 0x1FF)
              + " required");
    }
    if (((descriptor >>> 61) & 1) != 0) {
      throw new IllegalArgumentException(
          "the descriptor 0x%016x has the swizzling mode %d; 0, 2, 4 and 6 are supported"
              .formatted(descriptor, descriptor >>> 61));
    }
    return of(descriptor, byDepth, size);
  }

  /** Returns the address of an element. */
  long address(int outer, int depth) {
    int width = swizzle.width();
    boolean plain = swizzle == SwizzleMode.NONE;
    long address = start;
    if (byDepth) {
      long bytes = (long) depth * size;
      address += outer / CORE * stride + (long) (outer % CORE) * width;
      address += plain ? bytes / UNIT * leading + bytes % UNIT : bytes;
    } else {
      int along = width / size;
      address += outer / along * (plain ? stride : leading) + (long) (outer % along) * size;
      address += depth / CORE * (plain ? leading : stride) + (long) (depth % CORE) * width;
    }
    return swizzle.place(address);
  }
}
