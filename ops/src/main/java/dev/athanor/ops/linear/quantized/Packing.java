package dev.athanor.ops.linear.quantized;

import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.quant.ColumnWeights;
import dev.athanor.ops.quant.Int4Layout;
import dev.athanor.ops.quant.Int4Weights;
import dev.athanor.ops.quant.Names;

/** How the weights of a product are stored, as far as kernels are built for it. */
sealed interface Packing {

  /** Returns a part of the names of kernels. */
  String text();

  /** Returns the type of what the pointer to weights points to. */
  Type element();

  /** Returns the type of the scales beside the weights. */
  default Type scale() {
    return Type.F16;
  }

  /** Returns whether scales are those of groups of weights and applied to them, rather than to sums. */
  default boolean scaled() {
    return true;
  }

  /** Rows of weights along K, in blocks that have their scales with them. */
  record Block(DType format) implements Packing {
    @Override
    public String text() {
      return format.text();
    }

    @Override
    public Type element() {
      return Type.U8;
    }
  }

  /** Rows of four-bit weights along K, in words of eight. */
  record AlongK() implements Packing {
    @Override
    public String text() {
      return "int4";
    }

    @Override
    public Type element() {
      return Type.U32;
    }
  }

  /**
   * Rows of weights along N: a scale for all of int8, or one for each column and group, and perhaps
   * a zero point.
   */
  record AlongN(ColumnWeights.Format format, boolean zeros, boolean lessOne) implements Packing {
    @Override
    public String text() {
      return Names.of(format) + (zeros ? lessOne ? "_zeros1" : "_zeros" : "");
    }

    @Override
    public Type element() {
      return format == ColumnWeights.Format.INT8 ? Type.S8 : Type.U32;
    }

    @Override
    public boolean scaled() {
      return format != ColumnWeights.Format.INT8;
    }

    @Override
    public Type scale() {
      return format == ColumnWeights.Format.INT8 ? Type.F32 : Type.F16;
    }
  }

  /** How four-bit weights are stored. */
  static Packing of(Int4Weights weights) {
    return weights.layout() == Int4Layout.K_PACKED
        ? new AlongK()
        : new AlongN(
            ColumnWeights.Format.of(weights.layout()),
            weights.zeros(),
            weights.zeros() && weights.lessOne());
  }
}
