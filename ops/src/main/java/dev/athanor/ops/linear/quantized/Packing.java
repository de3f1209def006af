package dev.athanor.ops.linear.quantized;

import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.quant.ColumnWeights;
import dev.athanor.ops.quant.Fp4Format;
import dev.athanor.ops.quant.Int4Layout;
import dev.athanor.ops.quant.Int4Weights;
import dev.athanor.ops.quant.Names;
import dev.athanor.ops.quant.Problems;
import java.util.Optional;

/** The storage format of a product's weights, as far as kernels are specialized for it. */
sealed interface Packing {

  /** Returns the part of kernel names. */
  String text();

  /** Returns the element type of the pointer to the weights. */
  Type element();

  /** Returns the type of the separate scales. */
  Type scale();

  /** Returns whether there are separate scales. */
  default boolean hasScales() {
    return true;
  }

  /** Returns whether there are zero points. */
  default boolean hasZeros() {
    return false;
  }

  /** Returns whether scales belong to groups of weights and apply to weights rather than sums. */
  default boolean scaled() {
    return true;
  }

  /**
   * Returns the block format in whose parts {@link RowWeights} are decoded; empty for other
   * layouts.
   */
  default Optional<DType> parts() {
    return Optional.empty();
  }

  /** Rows of E2M1 weights along K, with separate scales. */
  record Fp4(Fp4Format format) implements Packing {
    @Override
    public String text() {
      return format.text();
    }

    @Override
    public Type element() {
      return Type.U8;
    }

    @Override
    public Type scale() {
      return Type.U8;
    }

    /** The runs of a part are 16 weights apart, which is the group of NVFP4. */
    @Override
    public Optional<DType> parts() {
      return Optional.of(DType.MXFP4);
    }
  }

  /** Rows of weights along K, in blocks that contain their scales. */
  record Block(DType format) implements Packing {
    @Override
    public String text() {
      return format.text();
    }

    @Override
    public boolean hasScales() {
      return false;
    }

    @Override
    public Optional<DType> parts() {
      return Optional.of(format);
    }

    @Override
    public Type element() {
      return Type.U8;
    }

    @Override
    public Type scale() {
      throw new IllegalStateException(format.text() + " blocks contain their scales");
    }
  }

  /** Rows of four-bit weights along K, in words of eight. */
  record AlongK(Type scale) implements Packing {
    @Override
    public String text() {
      return "int4" + suffix(scale);
    }

    @Override
    public Type element() {
      return Type.U32;
    }
  }

  /**
   * Rows of weights along N: one scale for all int8 weights, or a scale and an optional zero point
   * for each column and group.
   */
  record AlongN(ColumnWeights.Format format, boolean zeros, boolean lessOne, Type scale)
      implements Packing {

    /** The packing of int8 weights. */
    static final AlongN INT8 = new AlongN(ColumnWeights.Format.INT8, false, false, Type.F32);

    @Override
    public String text() {
      return Names.of(format)
          + (zeros ? lessOne ? "_zeros1" : "_zeros" : "")
          + (scaled() ? suffix(scale) : "");
    }

    @Override
    public Type element() {
      return format == ColumnWeights.Format.INT8 ? Type.S8 : Type.U32;
    }

    @Override
    public boolean hasZeros() {
      return zeros;
    }

    @Override
    public boolean scaled() {
      return format != ColumnWeights.Format.INT8;
    }
  }

  private static String suffix(Type scale) {
    return scale == Type.F16 ? "" : "_s" + scale.word();
  }

  /** Returns the packing of four-bit weights. */
  static Packing of(Int4Weights weights) {
    var scale = Problems.type(weights.scale());
    return weights.layout() == Int4Layout.K_PACKED
        ? new AlongK(scale)
        : new AlongN(
            ColumnWeights.Format.of(weights.layout()),
            weights.zeros(),
            weights.zeros() && weights.lessOne(),
            scale);
  }
}
