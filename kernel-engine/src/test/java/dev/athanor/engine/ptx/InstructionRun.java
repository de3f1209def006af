package dev.athanor.engine.ptx;

import dev.athanor.engine.layout.Fragment;
import dev.athanor.engine.layout.Fragments;
import dev.athanor.engine.ptx.Modifier.Rounding;
import dev.athanor.engine.ptx.meaning.MatrixProduct;
import dev.athanor.engine.ptx.meaning.RegisterTile;
import dev.athanor.engine.ptx.meaning.RegisterTile.Role;
import dev.athanor.engine.ptx.meaning.SmallFloat;
import dev.athanor.engine.ptx.table.InstructionTable;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.IntUnaryOperator;

/**
 * Runs an {@code mma.sync} or {@code wmma.mma} on matrices of bits: distributes them to registers
 * and collects the result.
 */
public final class InstructionRun {

  public final Modifiers modifiers;
  public final MatrixShape shape;

  /** The types of D, A, B and C. */
  public final List<Type> types;

  public final long[][] a;
  public final long[][] b;
  public final long[][] c;
  public final long[][] d;

  private final MatrixProduct product;
  private final Target target;

  public InstructionRun(String opcode, Target target) {
    var words = Arrays.stream(opcode.split("\\.")).skip(1).map(Modifier::of).toList();
    product = opcode.startsWith("wmma") ? MatrixProduct.WMMA : MatrixProduct.MMA;
    modifiers =
        InstructionTable.all().stream()
            .filter(row -> opcode.startsWith(row.mnemonic() + "."))
            .flatMap(row -> row.match(words).stream())
            .findFirst()
            .orElseThrow(() -> new IllegalArgumentException(opcode));
    shape = MatrixShape.of(modifiers);
    types = modifiers.types();
    a = new long[shape.m()][shape.k()];
    b = new long[shape.k()][shape.n()];
    c = new long[shape.m()][shape.n()];
    d = new long[shape.m()][shape.n()];
    this.target = target;
  }

  public void each(long[][] matrix, IntUnaryOperator value) {
    int i = 0;
    for (var row : matrix) {
      for (int j = 0; j < row.length; j++) {
        row[j] = value.applyAsInt(i++);
      }
    }
  }

  /**
   * Fills the factors and the addend with random numbers.
   *
   * @param special whether to include infinities and NaN
   * @param spread range of the exponents
   */
  public void fill(Random random, boolean special, int spread) {
    each(a, _ -> number(random, types.get(1), special, spread));
    each(b, _ -> number(random, types.get(2), special, spread));
    each(c, _ -> number(random, types.get(3), special, spread));
    for (int k = 1; k < shape.k(); k++) { // some products cancel
      if (random.nextInt(4) == 0) {
        int sign = 1 << (types.get(2).bits() - 1);
        for (int j = 0; j < shape.n(); j++) {
          b[k][j] = b[k - 1][j] ^ sign;
        }
        for (var row : a) {
          row[k] = row[k - 1];
        }
      }
    }
  }

  private static int number(Random random, Type type, boolean special, int spread) {
    int kind = random.nextInt(16);
    int sign = random.nextBoolean() ? 1 << (type.bits() - 1) : 0;
    boolean wide = type.bits() == 32;
    if (kind == 0) {
      return sign;
    }
    if (kind == 1) {
      return sign | (wide ? random.nextInt(1 << 23) : 1 + random.nextInt(3)); // subnormal
    }
    if (kind == 2 && special) {
      float value = random.nextBoolean() ? Float.NaN : Float.POSITIVE_INFINITY;
      return sign | encode(value, type, false);
    }
    int exponent = random.nextInt(wide || type == Type.BF16 ? 4 * spread : spread);
    return encode(Math.scalb(random.nextGaussian(), exponent - spread / 2), type, !special);
  }

  private static int encode(double value, Type type, boolean finite) {
    return type.bits() == 32
        ? Float.floatToRawIntBits((float) value)
        : SmallFloat.encode(value, type, Rounding.RN, finite);
  }

  public void execute() {
    var fragmentA = fragment(Role.A, types.get(1));
    var fragmentB = fragment(Role.B, types.get(2));
    var fragmentC = fragment(Role.C, types.get(3));
    int rowsA = rows(fragmentA, types.get(1));
    int rowsB = rows(fragmentB, types.get(2));
    var sources = new int[rowsA + rowsB + rows(fragmentC, types.get(3))][Fragment.LANES];
    spread(a, fragmentA, types.get(1), sources, 0);
    spread(b, fragmentB, types.get(2), sources, rowsA);
    spread(c, fragmentC, types.get(3), sources, rowsA + rowsB);
    var results = new int[rows(fragmentC, types.get(0))][Fragment.LANES];
    product
        .bind(modifiers, target)
        .apply(new WarpFunction.Call(modifiers, target, -1), sources, results);
    collect(results, fragmentC, types.get(0));
  }

  private Fragment fragment(Role role, Type type) {
    return product == MatrixProduct.WMMA
        ? RegisterTile.wmma(role, shape, type).fragment()
        : switch (role) {
          case A -> Fragments.a(shape.m(), shape.k(), type.bits());
          case B -> Fragments.b(shape.k(), type.bits());
          case C -> Fragments.c(shape.m());
        };
  }

  private static int rows(Fragment fragment, Type type) {
    return fragment.elements() * type.bits() / 32;
  }

  private static void spread(
      long[][] matrix, Fragment fragment, Type type, int[][] words, int first) {
    int bits = type.bits();
    for (int lane = 0; lane < Fragment.LANES; lane++) {
      for (int i = 0; i < fragment.elements(); i++) {
        var at = fragment.at(lane, i);
        long element = matrix[at.row()][at.column()];
        int row = first + i * bits / 32;
        if (bits == 64) {
          words[row][lane] = (int) element;
          words[row + 1][lane] = (int) (element >>> 32);
        } else {
          words[row][lane] |= (int) (element & ((1L << bits) - 1)) << (i * bits % 32);
        }
      }
    }
  }

  private void collect(int[][] words, Fragment fragment, Type type) {
    int bits = type.bits();
    for (int lane = 0; lane < Fragment.LANES; lane++) {
      for (int i = 0; i < fragment.elements(); i++) {
        var at = fragment.at(lane, i);
        int row = i * bits / 32;
        d[at.row()][at.column()] =
            switch (bits) {
              case 64 -> (words[row][lane] & 0xFFFF_FFFFL) | ((long) words[row + 1][lane] << 32);
              case 32 -> words[row][lane];
              default -> (words[row][lane] >>> (16 * (i % 2))) & 0xFFFF;
            };
      }
    }
  }
}
