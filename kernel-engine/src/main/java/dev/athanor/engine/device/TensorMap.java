package dev.athanor.engine.device;

import dev.athanor.engine.layout.Axis;
import dev.athanor.engine.layout.LinearLayout;
import dev.athanor.engine.layout.Swizzle;
import java.util.Collections;
import java.util.List;
import java.util.stream.Stream;

/**
 * The layout of a tensor in global memory and of the tiles that TMA copies (CUDA driver API, {@code
 * cuTensorMapEncodeTiled}; PTX ISA 5.5.8). Dimension 0 is the innermost; its elements are
 * contiguous.
 *
 * @param sizes number of elements in each of 1 to 5 dimensions, 1 to 2^32 - 1
 * @param strides bytes between consecutive elements of each dimension except the innermost
 * @param box number of elements of a tile in each dimension, 1 to 256
 * @param elementStrides copies every n-th element of a dimension, 1 to 8; ignored for the innermost
 *     dimension
 * @param swizzle swizzle of the tile in shared memory
 * @param fill value of elements of a tile outside the tensor
 * @param promotion fetch size of the L2 cache
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

  /** Size of a map as a kernel parameter. */
  public static final int BYTES = 128;

  private static final int MAX_DIMENSIONS = 5;
  private static final int UNIT = 16;
  private static final int MAX_BOX = 256;
  private static final int MAX_ELEMENT_STRIDE = 8;
  private static final long STRIDE_LIMIT = 1L << 40;

  /** The type of an element, in the order of the numbers in {@code tensormap.replace}. */
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

    /** Returns the {@code CUtensorMapDataType}. */
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

  /** Swizzle of 16-byte chunks, named by the maximum length of a row. */
  @SuppressWarnings("ImmutableEnumChecker") // the layout and its table are never written
  public enum SwizzleMode {
    NONE(16),
    BYTES_32(32),
    BYTES_64(64),
    BYTES_128(128);

    private final LinearLayout layout;

    /** The swizzled address of each byte of the part of memory after which it repeats. */
    private final int[] places;

    SwizzleMode(int width) {
      layout = Swizzle.of(width);
      places = layout.table();
    }

    /** Returns the mode with a layout of {@link Swizzle}. */
    public static SwizzleMode of(LinearLayout layout) {
      return Stream.of(values())
          .filter(mode -> mode.layout.equals(layout))
          .findFirst()
          .orElseThrow(
              () -> new IllegalArgumentException("not a swizzle of tensor maps: " + layout));
    }

    /** Returns the {@code CUtensorMapSwizzle}. */
    public int driverNumber() {
      return Integer.numberOfTrailingZeros(width() / UNIT);
    }

    /** Returns the bytes within which chunks are permuted; one chunk without a swizzle. */
    public int width() {
      return layout.inputs().extent(Axis.BYTE);
    }

    /** Returns the swizzled address of a byte in shared memory. */
    public long place(long address) {
      return (address & -places.length) | places[(int) address & (places.length - 1)];
    }

    private int longestRow() {
      return this == NONE ? Integer.MAX_VALUE : width();
    }
  }

  /** Value of elements outside the tensor. */
  public enum Fill {
    ZERO(0),
    NAN(1);

    private final int driverNumber;

    Fill(int driverNumber) {
      this.driverNumber = driverNumber;
    }

    /** Returns the {@code CUtensorMapFloatOOBfill}. */
    public int driverNumber() {
      return driverNumber;
    }
  }

  /** Fetch size of the L2 cache. */
  public enum Promotion {
    NONE(0),
    BYTES_64(1),
    BYTES_128(2),
    BYTES_256(3);

    private final int driverNumber;

    Promotion(int driverNumber) {
      this.driverNumber = driverNumber;
    }

    /** Returns the {@code CUtensorMapL2promotion}. */
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
    check(rank >= 1 && rank <= MAX_DIMENSIONS, "has 1 to 5 dimensions, got %d".formatted(rank));
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
          box.get(i) >= 1 && box.get(i) <= MAX_BOX,
          "has boxes of 1 to 256 elements, got %d for dimension %d".formatted(box.get(i), i));
      check(
          elementStrides.get(i) >= 1 && elementStrides.get(i) <= MAX_ELEMENT_STRIDE,
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

  /** Returns a map with element strides of 1, no swizzle, zero fill and no promotion. */
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
   * Returns a map of a contiguous row-major matrix.
   *
   * @param boxRows rows of a tile
   * @param boxColumns columns of a tile
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

  /** Returns the bytes from the first element to the end of the last. */
  public long bytes() {
    long last = sizes.getFirst() * element.bytes();
    for (int i = 1; i < sizes.size(); i++) {
      last += (sizes.get(i) - 1) * strides.get(i - 1);
    }
    return last;
  }

  /** Returns the number of elements of a tile in shared memory along a dimension. */
  public int copied(int dimension) {
    return dimension == 0
        ? box.getFirst()
        : Math.ceilDiv(box.get(dimension), elementStrides.get(dimension));
  }

  /** Returns the bytes of a tile in shared memory, elements outside the tensor included. */
  public int tileBytes() {
    int bytes = element.bytes();
    for (int i = 0; i < box.size(); i++) {
      bytes *= copied(i);
    }
    return bytes;
  }
}
