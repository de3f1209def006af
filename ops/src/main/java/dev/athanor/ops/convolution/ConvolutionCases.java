package dev.athanor.ops.convolution;

import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op;
import dev.athanor.ops.Op.Case;
import dev.athanor.ops.Problem;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;

/** Test cases of convolutions. */
final class ConvolutionCases {

  /**
   * Single elements and taps, windows partly and wholly in the padding, uneven strides and
   * dilations, groups, depthwise weights, and one to three dimensions, in both layouts.
   */
  private static final List<String> DIRECT =
      List.of(
          "x=[1,1,1] weight=[1,1,1]",
          "x=[2,3,17] weight=[5,3,4] bias=[5] strides=3 before=2 activation=gelu",
          "x=[1,4,7,9] weight=[6,4,3,3] bias=[6] before=1,1 after=1,1 activation=relu",
          "x=[2,4,8,6] weight=[4,1,3,2] groups=4 strides=2,1 dilations=1,2 after=0,3",
          "x=[2,7,9,6] weight=[9,3,3,2] bias=[9] groups=3 channelsLast=true",
          "x=[1,5,4,3,2] weight=[3,2,3,2,2] before=4,0,1 after=0,2,1 channelsLast=true",
          "x=[1,2,3,4,5] weight=[4,1,2,3,1] bias=[4] groups=2 dilations=2,1,3 strides=1,2,2",
          "x=[2,40,12] weight=[12,5,12] channelsLast=true activation=silu");

  /**
   * Products on tensor cores: runs of 16, 8, 4 and 2 bytes, channels that are and are not multiples
   * of the depth of a stage, more pixels than a tile, strides, padding, groups, and few pixels with
   * many taps, for split-K.
   */
  private static final List<String> IMPLICIT =
      List.of(
          "x=[2,9,7,32] weight=[40,3,3,32] bias=[40] before=1,1 after=1,1 activation=relu channelsLast=true",
          "x=[1,33,64] weight=[24,3,64] bias=[24] strides=2 before=1 after=1 activation=gelu channelsLast=true",
          "x=[3,5,6,24] weight=[17,2,3,24] dilations=2,1 channelsLast=true",
          "x=[1,8,9,12] weight=[8,3,3,6] groups=2 before=0,2 after=2,0 channelsLast=true",
          "x=[1,6,5,7,4] weight=[33,3,2,3,4] bias=[33] before=1,0,1 after=1,1,1 channelsLast=true",
          "x=[2,11,13,3] weight=[16,7,7,3] bias=[16] strides=2,2 before=3,3 after=3,3 channelsLast=true",
          "x=[1,2,3,128] weight=[64,3,3,128] before=1,1 after=1,1 channelsLast=true",
          "x=[2,64,6,5] weight=[32,32,3,3] bias=[32] groups=2 before=1,1 after=1,1 activation=silu",
          "x=[1,3,14,15] weight=[20,3,3,3] strides=2,1 before=1,1");

  private static final List<String> TRANSPOSED =
      List.of(
          "x=[1,1,1] weight=[1,1,1]",
          "x=[2,3,7] weight=[3,5,4] bias=[5] strides=3 before=1 after=2 activation=relu",
          "x=[1,4,5,3] weight=[4,6,3,3] bias=[6] strides=2,2 before=1,1 after=1,1 outputPadding=1,1",
          "x=[2,5,3,6] weight=[6,2,3,4] groups=3 strides=2,1 dilations=1,2 channelsLast=true",
          "x=[1,4,2,3,2] weight=[4,1,2,2,3] groups=2 strides=1,2,3",
          "x=[1,3,4,2] weight=[2,2,2,8] bias=[8] strides=2,2 outputPadding=0,3 channelsLast=true activation=gelu");

  private ConvolutionCases() {}

  static List<Case> of(Op op, boolean transposed, RandomGenerator random, boolean quick) {
    var cases = new ArrayList<Case>();
    var direct = transposed ? TRANSPOSED : DIRECT;
    var dtypes = List.of(DType.F32, DType.F16, DType.BF16, DType.F64);
    for (var text : quick ? direct.subList(1, 4) : direct) {
      for (int i = 0; i < (quick ? 1 : 2); i++) {
        add(cases, op, text, dtypes.get(cases.size() % dtypes.size()), random);
      }
    }
    if (!transposed) {
      for (var text : quick ? IMPLICIT.subList(0, 2) : IMPLICIT) {
        add(cases, op, text, DType.F16, random);
        add(cases, op, text, DType.BF16, random);
        add(cases, op, text + " precision=tf32", DType.F32, random);
      }
    }
    return cases;
  }

  private static void add(
      List<Case> cases, Op op, String text, DType dtype, RandomGenerator random) {
    // f64 has only two activations
    var given = dtype == DType.F64 ? text.replaceAll("gelu|silu", "relu") : text;
    var problem = Problem.parse(op, given.replace("=[", "=%s[".formatted(dtype.text())));
    var inputs = new LinkedHashMap<String, HostTensor>();
    problem
        .inputs()
        .forEach((name, type) ->
            inputs.put(name, new Draw(random).normal(0, deviation(name, type), type)));
    var limit = op.tolerance("y", dtype, problem.inputs(), problem.attributes()).limit();
    // a bias can cancel the sum, and an activation amplify its error
    boolean plain = !given.contains("bias") && !given.contains("activation");
    cases.add(
        new Case(
            inputs,
            problem.attributes(),
            Map.of("y", plain ? Tolerance.relative(limit) : Tolerance.maximum(4 * limit))));
  }

  /** Returns a standard deviation with which sums are near 1, so that a bias matters. */
  private static double deviation(String name, TensorType type) {
    return name.equals("weight")
        ? Math.sqrt(type.shape().extent(0) / (double) type.shape().elements())
        : 1;
  }
}
