package dev.athanor.engine.lift;

import static dev.athanor.engine.lift.Gpu.laneId;
import static dev.athanor.engine.lift.Gpu.shuffle;

import dev.athanor.engine.lift.intrinsic.Lowered;
import dev.athanor.engine.lift.intrinsic.MatrixLowerings;
import dev.athanor.engine.lift.ir.Effect;

/**
 * Matrices in the registers of a warp, and their product on tensor cores. All lanes of a warp call
 * these methods together. Elements of factors have 16 bits and are held as {@code short}, as by
 * {@link Float#floatToFloat16}; those of the sum are floats. The methods need sm_80.
 *
 * <p>A row of a factor in shared memory must start at a multiple of eight elements. Loads from rows
 * that are an odd multiple of eight elements apart are free of bank conflicts.
 */
public final class WarpMatrix {

  /**
   * A of 16 rows and 16 columns: a register holds two adjacent elements of a row (PTX ISA
   * 9.7.14.5.8).
   */
  public record A16x16(int r0, int r1, int r2, int r3) {}

  /** B of 16 rows and 8 columns: a register holds two adjacent elements of a column. */
  public record B16x8(int r0, int r1) {}

  /**
   * A sum of 16 rows and 8 columns. A lane holds the columns {@link #firstColumn} and the next one,
   * of the rows {@link #firstRow} (c0, c1) and {@code firstRow() + 8} (c2, c3).
   */
  public record C16x8(float c0, float c1, float c2, float c3) {}

  private WarpMatrix() {}

  /** Returns a sum of zeros. */
  public static C16x8 zero() {
    return new C16x8(0, 0, 0, 0);
  }

  /** Returns the first of the two rows of a {@link C16x8} that this lane holds. */
  public static int firstRow() {
    return laneId() / 4;
  }

  /** Returns the first of the two columns of a {@link C16x8} that this lane holds. */
  public static int firstColumn() {
    return laneId() % 4 * 2;
  }

  /**
   * Loads A from a row-major matrix in shared memory. PTX: {@code ldmatrix.x4}.
   *
   * @param start index of the first element, a multiple of 8
   * @param rowStride elements from one row to the next, a multiple of 8
   */
  public static A16x16 loadA(short[] shared, int start, int rowStride) {
    int lane = laneId();
    return loadMatrices(shared, start + lane % 16 * rowStride + lane / 16 * 8);
  }

  /**
   * Loads B from a row-major matrix in shared memory. PTX: {@code ldmatrix.x2.trans}.
   *
   * @param start index of the first element, a multiple of 8
   * @param rowStride elements from one row to the next, a multiple of 8
   */
  public static B16x8 loadB(short[] shared, int start, int rowStride) {
    return loadTwoTransposed(shared, start + laneId() % 16 * rowStride);
  }

  /**
   * Loads B from a column-major matrix in shared memory. PTX: {@code ldmatrix.x2}.
   *
   * @param start index of the first element, a multiple of 8
   * @param columnStride elements from one column to the next, a multiple of 8
   */
  public static B16x8 loadTransposedB(short[] shared, int start, int columnStride) {
    int lane = laneId();
    return loadTwo(shared, start + lane % 8 * columnStride + lane / 8 % 2 * 8);
  }

  /**
   * Returns {@code a · b + c} of elements in half precision. Products are exact. The device rounds
   * or truncates their sum as its tensor cores do; plain Java adds in double precision and rounds
   * once. PTX: {@code mma.sync.m16n8k16}.
   */
  @Lowered(by = MatrixLowerings.class, method = "multiplyHalf", effect = Effect.CONVERGENT)
  public static C16x8 multiplyHalf(A16x16 a, B16x8 b, C16x8 c) {
    return multiply(a, b, c, true);
  }

  /** Returns {@code a · b + c} of bfloat16 elements, as {@link #multiplyHalf}. */
  @Lowered(by = MatrixLowerings.class, method = "multiplyBfloat16", effect = Effect.CONVERGENT)
  public static C16x8 multiplyBfloat16(A16x16 a, B16x8 b, C16x8 c) {
    return multiply(a, b, c, false);
  }

  /** Stores a sum to a row-major matrix whose first element is {@code array[start]}. */
  public static void store(C16x8 c, float[] array, int start, int rowStride) {
    int upper = start + firstRow() * rowStride + firstColumn();
    int lower = upper + 8 * rowStride;
    array[upper] = c.c0;
    array[upper + 1] = c.c1;
    array[lower] = c.c2;
    array[lower + 1] = c.c3;
  }

  /**
   * Loads four matrices of 8x8 elements.
   *
   * @param index of lane {@code 8m + r}: where row {@code r} of matrix {@code m} starts
   */
  @Lowered(by = MatrixLowerings.class, method = "loadFour", effect = Effect.CONVERGENT)
  private static A16x16 loadMatrices(short[] shared, @Lowered.Index(elements = 8) int index) {
    return new A16x16(
        row(shared, index, 0), row(shared, index, 1), row(shared, index, 2), row(shared, index, 3));
  }

  @Lowered(by = MatrixLowerings.class, method = "loadTwo", effect = Effect.CONVERGENT)
  private static B16x8 loadTwo(short[] shared, @Lowered.Index(elements = 8) int index) {
    return new B16x8(row(shared, index, 0), row(shared, index, 1));
  }

  @Lowered(by = MatrixLowerings.class, method = "loadTwoTransposed", effect = Effect.CONVERGENT)
  private static B16x8 loadTwoTransposed(short[] shared, @Lowered.Index(elements = 8) int index) {
    return new B16x8(column(shared, index, 0), column(shared, index, 1));
  }

  /** Returns two adjacent elements of row {@code lane / 4} of an 8x8 matrix. */
  private static int row(short[] shared, int index, int matrix) {
    int at = shuffle(index, 8 * matrix + laneId() / 4) + laneId() % 4 * 2;
    return pack(shared[at], shared[at + 1]);
  }

  /** Returns two adjacent elements of column {@code lane / 4} of an 8x8 matrix. */
  private static int column(short[] shared, int index, int matrix) {
    int upper = shuffle(index, 8 * matrix + laneId() % 4 * 2);
    int lower = shuffle(index, 8 * matrix + laneId() % 4 * 2 + 1);
    return pack(shared[upper + laneId() / 4], shared[lower + laneId() / 4]);
  }

  private static int pack(short low, short high) {
    return (low & 0xFFFF) | (high << 16);
  }

  private static C16x8 multiply(A16x16 a, B16x8 b, C16x8 c, boolean half) {
    double c0 = c.c0;
    double c1 = c.c1;
    double c2 = c.c2;
    double c3 = c.c3;
    int rowOfA = laneId() / 4 * 4;
    int columnOfB = laneId() % 4 * 8; // the lanes of column firstColumn() start here
    for (int i = 0; i < 4; i++) {
      int upperLeft = shuffle(a.r0, rowOfA + i);
      int lowerLeft = shuffle(a.r1, rowOfA + i);
      int upperRight = shuffle(a.r2, rowOfA + i);
      int lowerRight = shuffle(a.r3, rowOfA + i);
      int topOfFirst = shuffle(b.r0, columnOfB + i);
      int bottomOfFirst = shuffle(b.r1, columnOfB + i);
      int topOfSecond = shuffle(b.r0, columnOfB + 4 + i);
      int bottomOfSecond = shuffle(b.r1, columnOfB + 4 + i);
      c0 += dot(upperLeft, topOfFirst, half) + dot(upperRight, bottomOfFirst, half);
      c1 += dot(upperLeft, topOfSecond, half) + dot(upperRight, bottomOfSecond, half);
      c2 += dot(lowerLeft, topOfFirst, half) + dot(lowerRight, bottomOfFirst, half);
      c3 += dot(lowerLeft, topOfSecond, half) + dot(lowerRight, bottomOfSecond, half);
    }
    return new C16x8((float) c0, (float) c1, (float) c2, (float) c3);
  }

  /** Returns the sum of the products of two pairs of elements. */
  private static double dot(int x, int y, boolean half) {
    return element(x, half) * element(y, half) + element(x >>> 16, half) * element(y >>> 16, half);
  }

  private static double element(int bits, boolean half) {
    return half ? Float.float16ToFloat((short) bits) : Float.intBitsToFloat(bits << 16);
  }
}
