package dev.athanor.ops.quant;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Blocks;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.map.Elements;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * E2M1 weights {@code [N, K/2]}, two per byte with the first in the low nibble, and separate scales
 * of their groups along K, as in safetensors files.
 *
 * <p>Sources: OCP Microscaling Formats (MX) Specification 1.0 for E2M1, E8M0 and groups of 32;
 * NVIDIA's description of NVFP4 for e4m3 scales of groups of 16 and an f32 scale of the tensor, as
 * stored by ModelOpt ({@code weight}, {@code weight_scale}, {@code weight_scale_2}) and by
 * compressed-tensors' {@code nvfp4-pack-quantized} ({@code weight_packed}, {@code weight_scale},
 * and {@code weight_global_scale}, the reciprocal).
 */
public enum Fp4Format {
  /** With e4m3 scales. */
  NVFP4(16, DType.E4M3),
  /** With exponents of powers of two as scales, e8m0. */
  MXFP4(32, DType.U8);

  /** The number of weights that a word holds. */
  public static final int WORD = 8;

  /** Twice the numbers of E2M1. */
  private static final List<Integer> DOUBLED = Blocks.table(DType.MXFP4);

  private static final int NAN_EXPONENT = 0xFF;
  private static final int EXPONENT_BIAS = 127;

  private final int group;
  private final DType scale;

  Fp4Format(int group, DType scale) {
    this.group = group;
    this.scale = scale;
  }

  /**
   * Returns the format whose scales have a dtype: e4m3 for NVFP4, u8 for the exponents of MXFP4.
   */
  public static Fp4Format of(DType scale) {
    return scale == DType.E4M3 ? NVFP4 : MXFP4;
  }

  /** Returns the part of kernel names, which differs from GGML's mxfp4. */
  public String text() {
    return this == NVFP4 ? "fp4_e4m3" : "fp4_e8m0";
  }

  /** Replaces drawn bytes by weights of all numbers, and by exponents of scales from 2^-8 to 1. */
  public static void draw(Map<String, HostTensor> drawn, String weights, String scales, Draw draw) {
    drawn.computeIfPresent(weights, (_, tensor) -> draw.bytes(tensor.type()));
    drawn.computeIfPresent(
        scales,
        (_, tensor) ->
            tensor.type().dtype() == DType.U8 ? draw.integers(119, 127, tensor.type()) : tensor);
  }

  /** Returns the number of weights that share a scale. */
  public int group() {
    return group;
  }

  /** Returns twice the unscaled weights of a word, in order. */
  public static List<Real> doubled(KernelBuilder k, Int word) {
    return Quants.selected(k, Quants.select(k, word, DOUBLED));
  }

  /**
   * Returns half of a scale.
   *
   * @param bits of the scale, from 0 to 255
   */
  public Real halfScale(KernelBuilder k, Int bits) {
    if (this == NVFP4) {
      return ((Real) new Elements(k).widen(scale, bits.value())).times(0.5);
    }
    return k.real(Type.F32, Double.NaN).where(bits.eq(NAN_EXPONENT), Quants.halvedPower(k, bits));
  }

  /**
   * Returns a weight in float64.
   *
   * @param ofTensor the scale of the tensor
   * @param index of the weight in the tensor
   */
  public double weight(
      HostTensor weights, HostTensor scales, @Nullable HostTensor ofTensor, long index) {
    int nibble = ((int) weights.get(index / 2) >> (index % 2 == 0 ? 0 : 4)) & 15;
    double bits = scales.get(index / group);
    double own =
        this == NVFP4
            ? bits
            : bits == NAN_EXPONENT ? Double.NaN : Math.scalb(1.0, (int) bits - EXPONENT_BIAS);
    double factor = Optional.ofNullable(ofTensor).map(each -> each.get(0)).orElse(1.0);
    return DOUBLED.get(nibble) / 2.0 * own * factor;
  }
}
