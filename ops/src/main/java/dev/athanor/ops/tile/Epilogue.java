package dev.athanor.ops.tile;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Activation;
import dev.athanor.ops.DType;
import dev.athanor.ops.Step.Slot;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The usual epilogue: {@code c = activation(scale · sum + bias)}, rounded once to the dtype of c.
 *
 * @param bias the dtype of the bias, one number for each column, if there is one
 * @param out the dtype of c
 */
public record Epilogue(Scale scale, Optional<DType> bias, Activation activation, DType out) {

  /** What a sum is multiplied by. */
  public enum Scale {
    /** Nothing. */
    NONE,
    /** A number that is known at the launch. */
    ALPHA,
    /** One f32, the input {@code scale}. */
    TENSOR,
    /** An f32 for each column, the input {@code bScale}. */
    COLUMNS,
    /** An f32 for each row, the input {@code aScale}, times one for each column. */
    ROWS_AND_COLUMNS
  }

  /**
   * Returns the PTX type of a dtype.
   *
   * @throws IllegalArgumentException if matrices of this dtype are not multiplied
   */
  public static Type type(DType dtype) {
    return switch (dtype) {
      case F64 -> Type.F64;
      case F32 -> Type.F32;
      case F16 -> Type.F16;
      case BF16 -> Type.BF16;
      case E4M3 -> Type.E4M3;
      case E5M2 -> Type.E5M2;
      case I8 -> Type.S8;
      case I32 -> Type.S32;
      default -> throw new IllegalArgumentException(dtype.text() + " is no dtype of a product");
    };
  }

  /** Sums as they are, times 1 or another number that is known at the launch. */
  public static Epilogue plain(DType out) {
    return new Epilogue(Scale.ALPHA, Optional.empty(), Activation.NONE, out);
  }

  /** The sums of a share of K as they are, in the type in which they are finished. */
  public Epilogue ofShares() {
    return plain(out == DType.F64 ? DType.F64 : DType.F32);
  }

  /** What sums are finished in: f64 for f64, f32 for the others. */
  public Type sum() {
    return out == DType.F64 ? Type.F64 : Type.F32;
  }

  /** The end of a kernel's name that says this: {@code _f32_scales2_bias_relu}. */
  public String name() {
    return "_" + out.text() + ending();
  }

  /** {@link #name} without the dtype of c. */
  public String ending() {
    var name = new StringBuilder();
    switch (scale) {
      case NONE, ALPHA -> {}
      case TENSOR -> name.append("_scale");
      case COLUMNS -> name.append("_scales");
      case ROWS_AND_COLUMNS -> name.append("_scales2");
    }
    bias.ifPresent(dtype -> name.append(dtype == out ? "_bias" : "_bias" + dtype.text()));
    if (activation != Activation.NONE) {
      name.append('_').append(activation.text().replace('-', '_'));
    }
    return name.toString();
  }

  /** The arguments of the parameters that {@link #declare} declares. */
  public List<Slot> slots(double alpha) {
    var slots = new ArrayList<Slot>();
    switch (scale) {
      case NONE -> {}
      case ALPHA -> slots.add(out == DType.F64 ? Slot.of(alpha) : Slot.of((float) alpha));
      case TENSOR -> slots.add(Slot.input("scale"));
      case COLUMNS -> slots.add(Slot.input("bScale"));
      case ROWS_AND_COLUMNS -> {
        slots.add(Slot.input("aScale"));
        slots.add(Slot.input("bScale"));
      }
    }
    bias.ifPresent(_ -> slots.add(Slot.input("bias")));
    return slots;
  }

  /** Declares the parameters; {@link #slots} gives them in the same order. */
  public Applied declare(KernelBuilder k) {
    Optional<Real> factor =
        switch (scale) {
          case ALPHA -> Optional.of(k.real("alpha", sum()));
          case TENSOR -> Optional.of(k.input("scale", Type.F32).load(k.integer(0)).widen());
          default -> Optional.empty();
        };
    var rows =
        scale == Scale.ROWS_AND_COLUMNS
            ? Optional.of(k.input("aScale", Type.F32))
            : Optional.<GlobalPointer>empty();
    var columns =
        scale == Scale.ROWS_AND_COLUMNS || scale == Scale.COLUMNS
            ? Optional.of(k.input("bScale", Type.F32))
            : Optional.<GlobalPointer>empty();
    return new Applied(
        this, factor, rows, columns, bias.map(dtype -> k.input("bias", type(dtype))));
  }

  /**
   * The factor of a row or a column and the number that is added to it, where there are any.
   *
   * <p>Both are of the type {@link Epilogue#sum}.
   */
  public record Line(Optional<Real> factor, Optional<Real> added) {}

  /**
   * An epilogue in a kernel.
   *
   * @param factor of all sums
   * @param rows factors of the rows
   * @param columns factors of the columns
   * @param bias what is added to the columns
   */
  public record Applied(
      Epilogue epilogue,
      Optional<Real> factor,
      Optional<GlobalPointer> rows,
      Optional<GlobalPointer> columns,
      Optional<GlobalPointer> bias)
      implements EpilogueFunction<Line> {

    @Override
    public boolean isLong() {
      return epilogue.scale == Scale.ROWS_AND_COLUMNS
          || (epilogue.activation != Activation.NONE && epilogue.activation != Activation.RELU);
    }

    /** What is the same in all of a column; zeros where it is beyond the last of {@code n}. */
    @Override
    public Line column(Int column, Int n) {
      return new Line(
          columns.map(p -> p.loadWhere(column.lt(n), column).widen()).or(() -> factor),
          bias.map(p -> p.loadWhere(column.lt(n), column).widen()));
    }

    /** What is the same in all of a row; zeros where it is beyond the last of {@code m}. */
    @Override
    public Line row(Int row, Int m) {
      return new Line(rows.map(p -> p.loadWhere(row.lt(m), row).widen()), Optional.empty());
    }

    /**
     * The element of c for a sum.
     *
     * @param sum s32, or of the type {@link Epilogue#sum}
     */
    @Override
    public Value finish(Value sum, Line row, Line column) {
      if (epilogue.out == DType.I32) {
        return sum;
      }
      Real scaled;
      if (sum.type() == Type.S32) {
        scaled = column.factor.map(f -> exact(sum, row.factor, f)).orElseGet(sum::widen);
        scaled = column.added.isPresent() ? scaled.plus(column.added.get()) : scaled;
      } else {
        var factor = column.factor.map(f -> row.factor.map(f::times).orElse(f));
        var all = sum.widen();
        scaled =
            factor
                .map(
                    f -> column.added.map(added -> all.fma(f, added)).orElseGet(() -> all.times(f)))
                .orElseGet(() -> column.added.map(all::plus).orElse(all));
      }
      return epilogue.activation.apply(scaled).to(type(epilogue.out));
    }

    /**
     * An s32 times one or two f32, rounded once but for a few parts in a million of the rounding:
     * what f32 leaves of the sum and of the product of the factors is carried along.
     */
    private static Real exact(Value sum, Optional<Real> row, Real column) {
      var high = sum.widen();
      var low = sum.integer().minus(high.round()).real(Type.F32);
      if (row.isEmpty()) {
        return high.fma(column, low.times(column));
      }
      var factor = row.get().times(column);
      var lost = row.get().fma(column, factor.negate());
      return high.fma(factor, low.fma(factor, high.times(lost)));
    }
  }
}
