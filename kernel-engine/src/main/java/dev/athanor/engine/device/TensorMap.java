package dev.athanor.engine.device;

import java.util.Collections;
import java.util.List;

/**
 * How a tensor lies in global memory and which tiles of it are copied at once (CUDA driver API,
 * {@code cuTensorMapEncodeTiled}; PTX ISA 5.5.8). Dimension 0 is the innermost, whose elements are
 * neighbours.
 *
 * @param sizes the elements of each dimension, 1 to 2^32 - 1; 1 to 5 dimensions
 * @param strides the bytes from one element to the next in each dimension but the innermost
 * @param box the elements of a tile in each dimension, 1 to 256
 * @param elementStrides of how many elements of a dimension one is copied, 1 to 8; the innermost
 *     dimension ignores it
 * @param swizzle how the rows of a tile exchange their chunks in shared memory
 * @param fill what a tile has beyond the tensor
 * @param promotion how much the L2 cache fetches at once
 */
public record TensorMap(
    Element element,
    List<Long> sizes,
    List<Long> strides,
    List<Integer> box,
    List<Integer> elementStrides,
    SwizzleMode swizzle,
    Fill fill,
    Promotion promotion) {

  /** The bytes of a map as a kernel parameter. */
  public static final int BYTES = 128;

  private static final int MOST_DIMENSIONS = 5;
  private static final int UNIT = 16;
  private static final int LONGEST_BOX = 256;
  private static final int GREATEST_ELEMENT_STRIDE = 8;
  private static final long STRIDE_LIMIT = 1L << 40;

  /** The type of an element; the order is that of the numbers in {@code tensormap.replace}. */
  public enum Element {
    U8(1, 0),
    U16(2, 1),
    U32(4, 2),
    S32(4, 3),
    U64(8, 4),
    S64(8, 5),
    F16(2, 6),
    F32(4, 7),
    F32_FTZ(4, 10),
    F64(8, 8),
    BF16(2, 9),
    TF32(4, 11),
    TF32_FTZ(4, 12);

    private final int bytes;
    private final int driverNumber;

    Element(int bytes, int driverNumber) {
      this.bytes = bytes;
      this.driverNumber = driverNumber;
    }

    public int bytes() {
      return bytes;
    }

    /** Its {@code CUtensorMapDataType}. */
    public int driverNumber() {
      return driverNumber;
    }

    boolean isInteger() {
      return switch (this) {
        case U8, U16, U32, S32, U64, S64 -> true;
        case F16, F32, F32_FTZ, F64, BF16, TF32, TF32_FTZ -> false;
      };
    }
  }

  /** How the 16-byte chunks of rows exchange places; the rows are at most so many bytes long. */
  public enum SwizzleMode {
    NONE(0),
    BYTES_32(1),
    BYTES_64(3),
    BYTES_128(7);

    private final int mask;

    SwizzleMode(int mask) {
      this.mask = mask;
    }

    /** Which bits from 7 on are added, without carry, to those from 4 on of an address. */
    public int mask() {
      return mask;
    }

    /** Its {@code CUtensorMapSwizzle}. */
    public int driverNumber() {
      return Integer.bitCount(mask);
    }

    /** The bytes among whose chunks a chunk has its place; one chunk without a swizzle. */
    public int width() {
      return UNIT * (mask + 1);
    }

    /** The address of a byte in shared memory, given that without a swizzle. */
    public long place(long address) {
      return address ^ (((address >>> 7) & mask) << 4);
    }

    private int longestRow() {
      return this == NONE ? Integer.MAX_VALUE : width();
    }
  }

  /** What a tile has where the tensor has nothing. */
  public enum Fill {
    ZERO(0),
    NAN(1);

    private final int driverNumber;

    Fill(int driverNumber) {
      this.driverNumber = driverNumber;
    }

    /** Its {@code CUtensorMapFloatOOBfill}. */
    public int driverNumber() {
      return driverNumber;
    }
  }

  /** How much the L2 cache fetches at once. */
  public enum Promotion {
    NONE(0),
    BYTES_64(1),
    BYTES_128(2),
    BYTES_256(3);

    private final int driverNumber;

    Promotion(int driverNumber) {
      this.driverNumber = driverNumber;
    }

    /** Its {@code CUtensorMapL2promotion}. */
    public int driverNumber() {
      return driverNumber;
    }
  }

  public TensorMap {
    sizes = List.copyOf(sizes);
    strides = List.copyOf(strides);
    box = List.copyOf(box);
    elementStrides = List.copyOf(elementStrides);
    int rank = sizes.size();
    check(rank >= 1 && rank <= MOST_DIMENSIONS, "has 1 to 5 dimensions, got %d".formatted(rank));
    check(
        strides.size() == rank - 1,
        "of %d dimensions has %d strides, got %d".formatted(rank, rank - 1, strides.size()));
    check(
        box.size() == rank && elementStrides.size() == rank,
        "of %d dimensions has as many box sizes and element strides, got %d and %d"
            .formatted(rank, box.size(), elementStrides.size()));
    for (int i = 0; i < rank; i++) {
      check(
          sizes.get(i) >= 1 && sizes.get(i) < 1L << 32,
          "has sizes from 1 to 4294967295, got %d for dimension %d".formatted(sizes.get(i), i));
      check(
          box.get(i) >= 1 && box.get(i) <= LONGEST_BOX,
          "has boxes of 1 to 256 elements, got %d for dimension %d".formatted(box.get(i), i));
      check(
          elementStrides.get(i) >= 1 && elementStrides.get(i) <= GREATEST_ELEMENT_STRIDE,
          "has element strides from 1 to 8, got %d for dimension %d"
              .formatted(elementStrides.get(i), i));
      if (i > 0) {
        long stride = strides.get(i - 1);
        check(
            stride >= 0 && stride < STRIDE_LIMIT && stride % UNIT == 0,
            "has strides that are multiples of 16 below 2^40, got %d for dimension %d"
                .formatted(stride, i));
      }
    }
    int row = box.getFirst() * element.bytes();
    check(row % UNIT == 0, "has rows of a multiple of 16 bytes in its box, got " + row);
    check(
        row <= swizzle.longestRow(),
        "swizzled %s has rows of at most %d bytes in its box, got %d"
            .formatted(swizzle, swizzle.longestRow(), row));
    check(
        fill == Fill.ZERO || !element.isInteger(),
        "of %s is filled with zeros, not with NaN".formatted(element));
  }

  private static void check(boolean right, String rule) {
    if (!right) {
      throw new IllegalArgumentException("a tensor map " + rule);
    }
  }

  /** A map of every element, without a swizzle, filled with zeros. */
  public static TensorMap of(
      Element element, List<Long> sizes, List<Long> strides, List<Integer> box) {
    return new TensorMap(
        element,
        sizes,
        strides,
        box,
        Collections.nCopies(box.size(), 1),
        SwizzleMode.NONE,
        Fill.ZERO,
        Promotion.NONE);
  }

  /**
   * A map of a row-major matrix without gaps.
   *
   * @param boxRows the rows of a tile
   * @param boxColumns its columns
   */
  public static TensorMap matrix(
      Element element, long rows, long columns, int boxRows, int boxColumns) {
    return of(
        element,
        List.of(columns, rows),
        List.of(columns * element.bytes()),
        List.of(boxColumns, boxRows));
  }

  public TensorMap withElementStrides(List<Integer> newElementStrides) {
    return new TensorMap(element, sizes, strides, box, newElementStrides, swizzle, fill, promotion);
  }

  public TensorMap withSwizzle(SwizzleMode newSwizzle) {
    return new TensorMap(element, sizes, strides, box, elementStrides, newSwizzle, fill, promotion);
  }

  public TensorMap withFill(Fill newFill) {
    return new TensorMap(element, sizes, strides, box, elementStrides, swizzle, newFill, promotion);
  }

  public TensorMap withPromotion(Promotion newPromotion) {
    return new TensorMap(element, sizes, strides, box, elementStrides, swizzle, fill, newPromotion);
  }

  /** The bytes from the first element to the end of the last. */
  public long bytes() {
    long last = sizes.getFirst() * element.bytes();
    for (int i = 1; i < sizes.size(); i++) {
      last += (sizes.get(i) - 1) * strides.get(i - 1);
    }
    return last;
  }

  /** How many elements of a dimension a tile has in shared memory. */
  public int copied(int dimension) {
    return dimension == 0
        ? box.getFirst()
        : Math.ceilDiv(box.get(dimension), elementStrides.get(dimension));
  }

  /** The bytes of a tile in shared memory, those beyond the tensor too. */
  public int tileBytes() {
    int bytes = element.bytes();
    for (int i = 0; i < box.size(); i++) {
      bytes *= copied(i);
    }
    return bytes;
  }
}
