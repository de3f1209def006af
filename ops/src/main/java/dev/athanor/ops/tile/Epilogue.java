package dev.athanor.ops.tile;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Activation;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.DType;
import dev.athanor.ops.Step.Slot;
import java.util.Optional;

/**
 * The standard epilogue: {@code c = activation(scale · sum + bias)}, rounded once to the dtype of
 * c.
 *
 * @param bias dtype of the bias, if there is one; the bias has one number per column
 * @param out dtype of c
 */
public record Epilogue(Scale scale, Optional<DType> bias, Activation activation, DType out) {

  /** The scale factor of a sum. */
  public enum Scale {
    /** No scale. */
    NONE,
    /** A number that is passed at the launch. */
    ALPHA,
    /** One f32, the input {@code scale}. */
    TENSOR,
    /** One f32 per column, the input {@code bScale}. */
    COLUMNS,
    /**
     * One f32 per row, the input {@code aScale}, times one per column, the input {@code bScale}.
     */
    ROWS_AND_COLUMNS,
    /** Those of {@link BlockScales}, which the main loop applies to partial sums. */
    BLOCKS
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
      default ->
          throw new IllegalArgumentException("unsupported dtype of a product: " + dtype.text());
    };
  }

  /** Returns an epilogue that only rounds sums. */
  public static Epilogue none(DType out) {
    return new Epilogue(Scale.NONE, Optional.empty(), Activation.NONE, out);
  }

  /** Returns an epilogue that only multiplies by a number that is passed at the launch. */
  public static Epilogue plain(DType out) {
    return new Epilogue(Scale.ALPHA, Optional.empty(), Activation.NONE, out);
  }

  /** Returns the epilogue of partial sums over a share of K, which are stored as {@link #sum}. */
  public Epilogue ofShares() {
    return plain(out == DType.F64 ? DType.F64 : DType.F32);
  }

  /** Returns this epilogue with a scale factor of the tensor. */
  public Epilogue scaled() {
    return new Epilogue(Scale.TENSOR, bias, activation, out);
  }

  /** Returns the type in which sums are finished: f64 if c is f64, else f32. */
  public Type sum() {
    return out == DType.F64 ? Type.F64 : Type.F32;
  }

  /** Returns {@link EpilogueFunction#isLong} of this epilogue. */
  public boolean isLong() {
    return scale == Scale.ROWS_AND_COLUMNS
        || (activation != Activation.NONE && activation != Activation.RELU);
  }

  /** Returns the suffix of a kernel's name, such as {@code _f32_scales2_bias_relu}. */
  public String name() {
    return "_" + out.text() + ending();
  }

  /** Returns {@link #name} without the dtype of c. */
  public String ending() {
    var name = new StringBuilder();
    switch (scale) {
      case NONE, ALPHA -> {}
      case TENSOR -> name.append("_scale");
      case COLUMNS -> name.append("_scales");
      case ROWS_AND_COLUMNS -> name.append("_scales2");
      case BLOCKS -> name.append("_blocks");
    }
    bias.ifPresent(dtype -> name.append(dtype == out ? "_bias" : "_bias" + dtype.text()));
    if (activation != Activation.NONE) {
      name.append('_').append(activation.text().replace('-', '_'));
    }
    return name.toString();
  }

  /** Returns the arguments of the parameters that {@link #declare} declares. */
  public Arguments arguments(double alpha) {
    var ofScale =
        switch (scale) {
          case NONE, BLOCKS -> Arguments.NONE;
          case ALPHA ->
              Arguments.NONE.with(
                  "alpha", out == DType.F64 ? Slot.of(alpha) : Slot.of((float) alpha));
          case TENSOR -> Arguments.ofInputs("scale");
          case COLUMNS -> Arguments.ofInputs("bScale");
          case ROWS_AND_COLUMNS -> Arguments.ofInputs("aScale", "bScale");
        };
    return bias.isPresent() ? ofScale.inputs("bias") : ofScale;
  }

  /** Declares the parameters of {@link #arguments}. */
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
   * The factor and the addend of a row or a column, if there are any.
   *
   * <p>Both are of the type {@link Epilogue#sum}.
   */
  public record Line(Optional<Real> factor, Optional<Real> added) {}

  /**
   * An epilogue in a kernel.
   *
   * @param factor factor of all sums
   * @param rows factors of the rows
   * @param columns factors of the columns
   * @param bias bias of the columns
   */
  public record Applied(
      Epilogue epilogue,
      Optional<Real> factor,
      Optional<GlobalPointer> rows,
      Optional<GlobalPointer> columns,
      Optional<GlobalPointer> bias)
      implements EpilogueFunction<Line> {

    /** Returns the epilogue of a matrix whose first column is a column of this one. */
    public Applied fromColumn(Int first) {
      return new Applied(
          epilogue,
          factor,
          rows,
          columns.map(p -> p.plus(first.wide())),
          bias.map(p -> p.plus(first.wide())));
    }

    @Override
    public boolean isLong() {
      return epilogue.isLong();
    }

    /** Loads the factor and bias of a column; zeros beyond the last of {@code n}. */
    @Override
    public Line column(Int column, Int n) {
      return new Line(
          columns.map(p -> p.loadWhere(column.lt(n), column).widen()).or(() -> factor),
          bias.map(p -> p.loadWhere(column.lt(n), column).widen()));
    }

    /** Loads the factor of a row; zero beyond the last of {@code m}. */
    @Override
    public Line row(Int row, Int m) {
      return new Line(rows.map(p -> p.loadWhere(row.lt(m), row).widen()), Optional.empty());
    }

    /**
     * Returns the element of c for a sum.
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
     * Multiplies an s32 by one or two f32. The result is rounded once, except for a few millionths
     * of the rounding error: the rounding errors of the conversion and of the product of the
     * factors are compensated.
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
