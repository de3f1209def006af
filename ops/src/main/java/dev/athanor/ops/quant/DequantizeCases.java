package dev.athanor.ops.quant;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op.Case;
import dev.athanor.ops.TensorType;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;

/** Test cases for every format, result dtype and access width. */
final class DequantizeCases {

  private static final List<DType> OUT = List.of(DType.F32, DType.F16, DType.BF16);

  private final Draw blocks;
  private final QuantDraw draw;
  private final List<Case> cases = new ArrayList<>();

  private DequantizeCases(RandomGenerator random) {
    this.blocks = new Draw(random);
    this.draw = new QuantDraw(random);
  }

  static List<Case> of(RandomGenerator random, boolean quick) {
    var all = new DequantizeCases(random);
    for (var out : quick ? List.of(DType.F16) : OUT) {
      all.blocks(out, quick);
      all.bytes(out, quick);
      all.words(out, quick);
      all.fp4(out, quick);
    }
    return all.cases;
  }

  private void blocks(DType out, boolean quick) {
    var formats = EnumSet.copyOf(BlockFormat.GGML);
    formats.add(DType.NF4);
    for (var format : formats) {
      int n = format.blockElements();
      add(out, Map.of(), Map.of("x", blocks.blocks(TensorType.of(format, quick ? 1 : 3, n))));
      if (!quick) {
        add(out, Map.of(), Map.of("x", blocks.blocks(TensorType.of(format, 3L * n))));
      }
    }
  }

  private void bytes(DType out, boolean quick) {
    for (var shape :
        quick ? new long[][] {{7, 24}} : new long[][] {{7, 24}, {3, 17}, {2, 3, 50}, {1, 1}}) {
      var rows = Arrays.copyOf(shape, shape.length - 1);
      add(out, Map.of(), Map.of("x", draw.bytes(shape), "scale", draw.scales(DType.F32)));
      add(out, Map.of(), Map.of("x", draw.bytes(shape), "scale", draw.scales(DType.F16, rows)));
      add(out, Map.of(), Map.of("x", draw.bytes(shape), "scale", draw.scales(DType.BF16, rows)));
    }
    add(out, Map.of(), Map.of("x", draw.bytes(), "scale", draw.scales(DType.F32)));
  }

  private void fp4(DType out, boolean quick) {
    for (var shape : quick ? new long[][] {{3, 64}} : new long[][] {{3, 96}, {2, 5, 32}, {640}}) {
      add(out, Map.of(), draw.fp4("x", "scale", Fp4Format.NVFP4, shape));
      add(out, Map.of(), draw.fp4("x", "scale", Fp4Format.MXFP4, shape));
    }
    var scaled = draw.fp4("x", "scale", Fp4Format.NVFP4, 7, 48);
    scaled.put("tensorScale", draw.scales(DType.F32));
    add(out, Map.of(), scaled);
  }

  private void words(DType out, boolean quick) {
    // K, N, group
    var sizes =
        quick
            ? new int[][] {{64, 24, 32}}
            : new int[][] {{64, 24, 32}, {40, 8, 32}, {256, 40, 128}, {24, 16, -1}, {8, 8, 64}};
    for (var size : sizes) {
      for (var layout : Int4Layout.values()) {
        for (var zeroFormat :
            layout == Int4Layout.K_PACKED ? List.of("") : List.of("", "plain", "less-one")) {
          words(out, layout, size[0], size[1], size[2], zeroFormat, DType.F16);
        }
      }
    }
    words(out, Int4Layout.K_PACKED, 40, 13, 32, "", DType.F16);
    words(out, Int4Layout.GPTQ, 40, 13, 32, "", DType.F16);
    words(out, Int4Layout.GPTQ, 8, 18, -1, "", DType.F16);
    for (var layout : Int4Layout.values()) {
      words(out, layout, 64, 24, 32, "", DType.F32);
      words(out, layout, 40, 8, 32, "", DType.BF16);
      // the groups of rows are named, and some do not exist
      var zeroFormat = layout == Int4Layout.K_PACKED ? "" : "plain";
      words(out, layout, 72, 24, 32, zeroFormat, DType.F16, true);
      words(out, layout, 40, 8, -1, zeroFormat, DType.F32, true);
    }
    words(out, Int4Layout.GPTQ, 40, 13, 16, "", DType.BF16, true);
  }

  private void words(
      DType out, Int4Layout layout, int k, int n, int group, String zeroFormat, DType scale) {
    words(out, layout, k, n, group, zeroFormat, scale, false);
  }

  private void words(
      DType out,
      Int4Layout layout,
      int k,
      int n,
      int group,
      String zeroFormat,
      DType scale,
      boolean indexed) {
    var attributes =
        new HashMap<String, Object>(Map.of("layout", layout.text(), "groupSize", group));
    var inputs = new HashMap<String, HostTensor>();
    int groups = group == -1 ? 1 : Math.ceilDiv(k, group);
    inputs.put(
        "x",
        switch (layout) {
          case K_PACKED -> draw.words(n, k / 8);
          case GPTQ -> draw.words(k / 8, n);
          case AWQ -> draw.words(k, n / 8);
        });
    inputs.put("scale", draw.scales(scale, groups, n));
    if (!zeroFormat.isEmpty()) {
      attributes.put("zeroFormat", zeroFormat);
      inputs.put("zeros", draw.words(groups, n / 8));
    }
    if (indexed) {
      inputs.put(Int4Weights.GROUP_INDICES, draw.groupIndices(k, groups));
    }
    add(out, attributes, inputs);
  }

  private void add(DType out, Map<String, ?> given, Map<String, HostTensor> inputs) {
    var all = new HashMap<String, Object>(given);
    all.put("outDtype", out.text());
    var op = new Dequantize();
    var attributes = Attributes.of(op.description(), all);
    var tolerance = op.tolerance("y", out, HostTensor.types(inputs), attributes);
    cases.add(new Case(inputs, attributes, Map.of("y", tolerance)));
  }
}
