package dev.athanor.engine.ptx.meaning;

import dev.athanor.engine.layout.Fragment;
import dev.athanor.engine.ptx.MatrixShape;
import dev.athanor.engine.ptx.Modifier.Rounding;
import dev.athanor.engine.ptx.Modifiers;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.WarpFunction;
import dev.athanor.engine.ptx.meaning.RegisterTile.Role;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntUnaryOperator;

/**
 * D = A B + C of {@code mma.sync} and {@code wmma.mma}. Shape, types and operation come from the
 * instruction.
 */
public enum MatrixProduct implements WarpFunction {
  /** Fragments as in the manual's figures. */
  MMA,
  /** Fragments as loaded by {@code wmma.load}. */
  WMMA;

  private static final int CANONICAL_NAN = 0x7FFF_FFFF;
  private static final int CANONICAL_HALF_NAN = 0x7FFF;

  /** On every target, ptxas emits HMMA.1684 for {@code wmma.mma} of tf32. */
  private static final int WMMA_TF32_DEPTH = 4;

  @Override
  public void apply(Call call, int[][] sources, int[][] results) {
    bind(call.modifiers(), call.target()).apply(call, sources, results);
  }

  @Override
  public WarpFunction bind(Modifiers modifiers, Target target) {
    var shape = MatrixShape.of(modifiers);
    var types = modifiers.types();
    var d = types.getFirst();
    var a =
        types.size() == 2
            ? Type.F16
            : types.get(1); // wmma with f16 factors names only the accumulator types
    var b = types.size() == 2 ? Type.F16 : types.get(2);
    var c = types.get(types.size() == 2 ? 1 : 3);
    return switch (a) {
      case F64 -> new DoubleProduct(this, shape, modifiers);
      case B1 -> new BitProduct(this, shape, modifiers);
      case S4, U4, S8, U8 -> new IntegerProduct(this, shape, a, b, modifiers);
      default -> new FloatProduct(this, shape, a, b, c, d, modifiers, target);
    };
  }

  private Matrix matrix(Role role, MatrixShape shape, Type type) {
    return new Matrix(tile(role, shape, type));
  }

  /** The registers of a matrix and the positions of their elements. */
  private static final class Matrix {
    private final int[] indices;
    private final int bits;

    /** Number of registers that hold each element once. */
    private final int registers;

    /** Number of elements in a register of all lanes. */
    private final int perRegister;

    /** Number of rows of words. */
    private final int words;

    Matrix(RegisterTile tile) {
      this(tile, IntUnaryOperator.identity());
    }

    /** Creates a matrix that stores its elements at positions other than their row-major index. */
    Matrix(RegisterTile tile, IntUnaryOperator place) {
      indices = Arrays.stream(tile.indices()).map(place).toArray();
      bits = tile.bits();
      registers = tile.distinctRegisters();
      perRegister = tile.elementsPerRegister() * Fragment.LANES;
      words = tile.wordRows();
    }

    int size() {
      return indices.length;
    }

    /** Unpacks the elements from registers, widened to 32 bits. */
    void unpack(int[][] words, int first, boolean signed, int[] elements) {
      int next = 0;
      for (int register = 0; register < registers; register++) {
        for (int word : words[first + register]) {
          for (int shift = 0; shift < 32; shift += bits) {
            int top = word << (32 - bits - shift);
            elements[indices[next++]] = signed ? top >> (32 - bits) : top >>> (32 - bits);
          }
        }
      }
    }

    /** Packs 32-bit elements into registers. */
    void pack(int[] elements, int[][] words) {
      int next = 0;
      for (int register = 0; register < registers; register++) {
        for (int lane = 0; lane < Fragment.LANES; lane++) {
          words[register][lane] = elements[indices[next++]];
        }
      }
    }
  }

  private RegisterTile tile(Role role, MatrixShape shape, Type type) {
    return this == MMA ? RegisterTile.mma(role, shape, type) : RegisterTile.wmma(role, shape, type);
  }

  /** Factors of tf32, bf16, f16 and smaller floating-point types, with or without block scaling. */
  private static final class FloatProduct implements WarpFunction {
    private final Matrix a;
    private final Matrix b;
    private final Matrix c;
    private final Matrix d;

    /** Whether C is added at the end, to a sum that starts at zero. */
    private final boolean addsAccumulatorLast;

    private final float[] accumulators;
    private final NumberFormat formatA;
    private final NumberFormat formatB;
    private final NumberTile numbersA;
    private final NumberTile numbersB;
    private final float[] sums;
    private final DotProducts products;

    /** The scale factors of A and of B; empty = none. */
    private final List<ScaleFactors> scales;

    FloatProduct(
        MatrixProduct product,
        MatrixShape shape,
        Type a,
        Type b,
        Type c,
        Type d,
        Modifiers modifiers,
        Target target) {
      boolean packed = RegisterTile.isPacked(shape);
      formatA = packed ? NumberFormat.PACKED_E2M1 : NumberFormat.of(a);
      formatB = packed ? NumberFormat.PACKED_E2M1 : NumberFormat.of(b);
      int k = shape.k();
      int n = shape.n();
      addsAccumulatorLast = formatA.is8Bit() && TensorCore.convertsFp8(target);
      IntUnaryOperator position =
          addsAccumulatorLast
              ? at -> TensorCore.convertedPosition(at, k)
              : IntUnaryOperator.identity();
      this.a =
          new Matrix(
              product.tile(Role.A, shape, a), at -> at / k * k + position.applyAsInt(at % k));
      this.b =
          new Matrix(
              product.tile(Role.B, shape, b), at -> position.applyAsInt(at / n) * n + at % n);
      this.c = product.matrix(Role.C, shape, c);
      this.d = product.matrix(Role.C, shape, d);
      scales = ScaleFactors.of(modifiers);
      var plainA = new NumberTile(shape.m(), k, TensorCore.minExponent(target, formatA));
      var plainB = new NumberTile(k, n, TensorCore.minExponent(target, formatB));
      numbersA = scales.isEmpty() ? plainA : scales.getFirst().scaleRows(plainA, k);
      numbersB = scales.isEmpty() ? plainB : scales.getLast().scaleColumns(plainB, k);
      sums = new float[shape.m() * shape.n()];
      // the sum is f32 if c or d is (PTX ISA 9.7.14.4.5)
      var sum = c == Type.F16 ? d : c;
      int depth = product == WMMA && a == Type.TF32 ? WMMA_TF32_DEPTH : k;
      products = new DotProducts(shape, TensorCore.of(target, formatA, sum, depth));
      accumulators = new float[addsAccumulatorLast ? sums.length : 0];
    }

    @Override
    public void apply(Call call, int[][] sources, int[][] results) {
      for (int register = 0; register < a.registers; register++) {
        formatA.unpack(sources[register], a.indices, register * a.perRegister, numbersA.values());
      }
      for (int register = 0; register < b.registers; register++) {
        formatB.unpack(
            sources[a.words + register], b.indices, register * b.perRegister, numbersB.values());
      }
      int next = a.words + b.words;
      read(sources, next);
      next += c.words;
      for (var factors : scales) {
        factors.read(sources, next);
        next += ScaleFactors.WORDS;
      }
      if (addsAccumulatorLast) {
        System.arraycopy(sums, 0, accumulators, 0, sums.length);
        Arrays.fill(sums, 0);
      }
      products.add(numbersA, numbersB, sums);
      for (int i = 0; i < accumulators.length; i++) {
        sums[i] += accumulators[i]; // rounding to f32 and then to f16 equals a single rounding
      }
      write(results);
    }

    private void read(int[][] sources, int first) {
      var indices = c.indices;
      for (int register = 0; register < c.registers; register++) {
        var words = sources[first + register];
        int at = register * c.perRegister;
        if (c.bits == 16) {
          NumberFormat.F16.unpack(words, indices, at, sums);
        } else {
          for (int lane = 0; lane < Fragment.LANES; lane++) {
            sums[indices[at + lane]] = Float.intBitsToFloat(words[lane]);
          }
        }
      }
    }

    private void write(int[][] results) {
      var indices = d.indices;
      for (int register = 0; register < d.registers; register++) {
        var words = results[register];
        int at = register * d.perRegister;
        for (int lane = 0; lane < Fragment.LANES; lane++) {
          if (d.bits == 16) {
            int low = half(sums[indices[at + 2 * lane]]);
            words[lane] = low | half(sums[indices[at + 2 * lane + 1]]) << 16;
          } else {
            float sum = sums[indices[at + lane]];
            words[lane] = Float.isNaN(sum) ? CANONICAL_NAN : Float.floatToRawIntBits(sum);
          }
        }
      }
    }

    private static int half(float sum) {
      return Float.isNaN(sum) ? CANONICAL_HALF_NAN : Float.floatToFloat16(sum) & 0xFFFF;
    }
  }

  /** Factors of 4 and 8 bits; sums wrap or saturate to s32. */
  private static final class IntegerProduct implements WarpFunction {
    private final MatrixShape shape;
    private final Matrix a;
    private final Matrix b;
    private final Matrix c;
    private final boolean signedA;
    private final boolean signedB;
    private final boolean saturated;
    private final int[] factorsA;
    private final int[] factorsB;
    private final int[] sums;

    IntegerProduct(MatrixProduct product, MatrixShape shape, Type a, Type b, Modifiers modifiers) {
      this.shape = shape;
      this.a = product.matrix(Role.A, shape, a);
      this.b = product.matrix(Role.B, shape, b);
      this.c = product.matrix(Role.C, shape, Type.S32);
      signedA = a.kind() == Type.Kind.SIGNED;
      signedB = b.kind() == Type.Kind.SIGNED;
      saturated = modifiers.has("satfinite");
      factorsA = new int[this.a.size()];
      factorsB = new int[this.b.size()];
      sums = new int[this.c.size()];
    }

    @Override
    public void apply(Call call, int[][] sources, int[][] results) {
      a.unpack(sources, 0, signedA, factorsA);
      b.unpack(sources, a.words, signedB, factorsB);
      c.unpack(sources, a.words + b.words, true, sums);
      for (int at = 0; at < sums.length; at++) {
        int row = at / shape.n() * shape.k();
        int sum = 0; // at most 64 products of two bytes
        for (int k = 0, j = at % shape.n(); k < shape.k(); k++, j += shape.n()) {
          sum += factorsA[row + k] * factorsB[j];
        }
        sums[at] =
            saturated
                ? Math.clamp((long) sums[at] + sum, Integer.MIN_VALUE, Integer.MAX_VALUE)
                : sums[at] + sum;
      }
      c.pack(sums, results);
    }
  }

  /** Counts common or differing ones of bit rows and bit columns. */
  private static final class BitProduct implements WarpFunction {
    private final MatrixShape words;
    private final Matrix a;
    private final Matrix b;
    private final Matrix c;
    private final boolean and;
    private final int[] rows;
    private final int[] columns;
    private final int[] sums;

    BitProduct(MatrixProduct product, MatrixShape shape, Modifiers modifiers) {
      words = new MatrixShape(shape.m(), shape.n(), shape.k() / 32);
      a = product.matrix(Role.A, words, Type.B32);
      b = product.matrix(Role.B, words, Type.B32);
      c = product.matrix(Role.C, shape, Type.S32);
      and = modifiers.has("and");
      rows = new int[a.size()];
      columns = new int[b.size()];
      sums = new int[c.size()];
    }

    @Override
    public void apply(Call call, int[][] sources, int[][] results) {
      a.unpack(sources, 0, false, rows);
      b.unpack(sources, a.words, false, columns);
      c.unpack(sources, a.words + b.words, true, sums);
      for (int at = 0; at < sums.length; at++) {
        int row = at / words.n() * words.k();
        for (int k = 0, j = at % words.n(); k < words.k(); k++, j += words.n()) {
          sums[at] +=
              Integer.bitCount(and ? rows[row + k] & columns[j] : rows[row + k] ^ columns[j]);
        }
      }
      c.pack(sums, results);
    }
  }

  /** Factors and accumulators of f64: fused multiply-adds with ascending k. */
  private static final class DoubleProduct implements WarpFunction {
    private final MatrixShape shape;
    private final Matrix a;
    private final Matrix b;
    private final Matrix c;
    private final Rounding rounding;
    private final double[] factorsA;
    private final double[] factorsB;
    private final double[] sums;

    DoubleProduct(MatrixProduct product, MatrixShape shape, Modifiers modifiers) {
      this.shape = shape;
      a = product.matrix(Role.A, shape, Type.F64);
      b = product.matrix(Role.B, shape, Type.F64);
      c = product.matrix(Role.C, shape, Type.F64);
      rounding = modifiers.find(Rounding.class).orElse(Rounding.RN);
      factorsA = new double[a.size()];
      factorsB = new double[b.size()];
      sums = new double[c.size()];
    }

    @Override
    public void apply(Call call, int[][] sources, int[][] results) {
      read(a, sources, 0, factorsA);
      read(b, sources, a.words, factorsB);
      read(c, sources, a.words + b.words, sums);
      for (int at = 0; at < sums.length; at++) {
        int row = at / shape.n() * shape.k();
        double sum = sums[at];
        for (int k = 0, j = at % shape.n(); k < shape.k(); k++, j += shape.n()) {
          sum =
              rounding == Rounding.RN
                  ? FloatFunctions.fma(factorsA[row + k], factorsB[j], sum)
                  : FloatFunctions.fmaDirected(factorsA[row + k], factorsB[j], sum, rounding);
        }
        sums[at] = sum;
      }
      for (int i = 0; i < sums.length; i++) {
        long bits = Double.doubleToRawLongBits(sums[c.indices[i]]);
        results[i / Fragment.LANES * 2][i % Fragment.LANES] = (int) bits;
        results[i / Fragment.LANES * 2 + 1][i % Fragment.LANES] = (int) (bits >>> 32);
      }
    }

    private static void read(Matrix matrix, int[][] words, int first, double[] elements) {
      for (int i = 0; i < elements.length; i++) {
        int row = first + i / Fragment.LANES * 2;
        int lane = i % Fragment.LANES;
        elements[matrix.indices[i]] =
            Double.longBitsToDouble(
                (words[row][lane] & 0xFFFF_FFFFL) | ((long) words[row + 1][lane] << 32));
      }
    }
  }
}
