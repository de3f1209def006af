package dev.athanor.ops.linear.quantized;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op.Case;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.quant.BlockFormat;
import dev.athanor.ops.quant.Fp4Format;
import dev.athanor.ops.quant.Int4Layout;
import dev.athanor.ops.quant.Int4Weights;
import dev.athanor.ops.quant.QuantDraw;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.random.RandomGenerator;

/** Test cases of products with quantized weights, of awkward sizes. */
final class ProjectionCases {

  private ProjectionCases() {}

  /** Draws a left matrix, or three-dimensional ones of a multiple of three rows. */
  private static HostTensor left(Draw draw, DType dtype, int m, int k) {
    return m % 3 == 0 ? draw.normal(dtype, 3, m / 3, k) : draw.normal(dtype, m, k);
  }

  static List<Case> gguf(RandomGenerator random, boolean quick) {
    var draw = new Draw(random);
    var cases = new ArrayList<Case>();
    var formats = BlockFormat.GGML.stream().sorted().toList();
    // M, N, and blocks along K; in the last case, K is split and one share is shorter
    int[][] sizes =
        quick ? new int[][] {{2, 5, 1}} : new int[][] {{1, 13, 3}, {17, 9, 2}, {18, 11, 0}};
    for (int f = 0; f < formats.size(); f++) {
      var format = formats.get(f);
      for (int s = 0; s < sizes.length; s++) {
        // the types of a alternate with sizes and formats
        var in = (f + s) % 2 == 0 ? DType.F32 : DType.F16;
        int m = sizes[s][0];
        int along = s < 2 ? sizes[s][2] : format.blockElements() == 32 ? 35 : 5;
        int k = along * format.blockElements();
        var inputs = new HashMap<String, HostTensor>();
        inputs.put("a", left(draw, in, m, k));
        inputs.put("w", draw.blocks(TensorType.of(format, sizes[s][1], k)));
        if ((f + s) % 3 == 1) {
          inputs.put("bias", draw.normal(f % 2 == 0 ? DType.F32 : in, sizes[s][1]));
        }
        cases.add(
            new Case(
                inputs,
                Attributes.of(new MatmulGguf().description(), Map.of()),
                Map.of("c", MatmulGguf.tolerance(in, k))));
      }
    }
    return cases;
  }

  static List<Case> int4(RandomGenerator random, boolean quick) {
    var all = new Int4Cases(random);
    // M, N, K, group
    int turn = 0;
    var every = quick ? new int[] {2, 24, 64, 32} : new int[] {17, 40, 96, 32};
    for (var layout : Int4Layout.values()) {
      for (var zeroFormat : zeroFormats(layout)) {
        all.add(turn++, layout, every, zeroFormat);
      }
    }
    if (!quick) {
      // bf16, whose scales are applied to sums, with every zero-point format
      for (var layout : Int4Layout.values()) {
        for (var zeroFormat : zeroFormats(layout)) {
          all.add(1, layout, new int[] {17, 40, 160, 32}, zeroFormat);
          all.add(4, layout, new int[] {65, 72, 192, 64}, zeroFormat);
        }
      }
    }
    var others =
        quick
            ? new int[][] {{17, 8, 24, -1}}
            // in the last case, the shares of K have different depths
            : new int[][] {
              {1, 24, 256, 128}, {65, 72, 40, -1}, {3, 8, 136, 64}, {17, 24, 1048, 128}
            };
    for (var size : others) {
      for (var layout : Int4Layout.values()) {
        // zero-point formats in turn
        var formats = zeroFormats(layout);
        all.add(turn, layout, size, formats.get(turn++ % formats.size()));
      }
    }
    for (var layout : Int4Layout.values()) {
      var formats = zeroFormats(layout);
      all.add(turn++, layout, new int[] {5, 24, 56, 16}, formats.getLast());
      all.add(0, layout, new int[] {17, 24, 64, 32}, formats.getLast(), DType.F32);
      if (!quick) {
        all.add(1, layout, new int[] {65, 40, 160, 128}, formats.getFirst(), DType.F32);
        all.add(1, layout, new int[] {2, 72, 192, 64}, formats.getLast(), DType.F32);
        all.add(2, layout, new int[] {1, 40, 8320, 128}, formats.getFirst(), DType.F32);
        all.add(1, layout, new int[] {17, 40, 96, 32}, formats.getLast(), DType.BF16);
        all.add(3, layout, new int[] {3, 24, 1048, 128}, formats.getFirst(), DType.BF16);
      }
    }
    if (!quick) {
      // rows of scales that are not aligned for asynchronous copies
      all.add(1, Int4Layout.GPTQ, new int[] {2, 13, 40, 32}, "", DType.BF16);
      all.add(0, Int4Layout.K_PACKED, new int[] {3, 13, 40, 32}, "", DType.F32);
      all.add(0, Int4Layout.K_PACKED, new int[] {17, 13, 128, 64}, "");
      all.add(1, Int4Layout.K_PACKED, new int[] {5, 18, 80, 32}, "");
      all.add(2, Int4Layout.GPTQ, new int[] {17, 13, 40, 32}, "");
      all.add(3, Int4Layout.GPTQ, new int[] {2, 34, 40, 32}, "");
      all.addSpecial(17, 13, 40);
      // split-K GEMV with a shorter last share
      all.add(0, Int4Layout.K_PACKED, new int[] {1, 40, 8320, 128}, "");
      all.add(0, Int4Layout.GPTQ, new int[] {1, 40, 8320, 64}, "less-one");
      all.add(1, Int4Layout.AWQ, new int[] {3, 72, 4480, 128}, "plain");
    }
    // the groups of rows are named, and some do not exist
    for (var layout : Int4Layout.values()) {
      var formats = zeroFormats(layout);
      all.indexed = true;
      all.add(turn++, layout, new int[] {3, 24, 72, 32}, formats.getLast());
      if (!quick) {
        all.add(1, layout, new int[] {65, 40, 160, 128}, formats.getFirst(), DType.F32);
      }
      all.indexed = false;
    }
    return all.cases;
  }

  private static List<String> zeroFormats(Int4Layout layout) {
    return layout == Int4Layout.K_PACKED ? List.of("") : List.of("", "plain", "less-one");
  }

  /** Test cases of four-bit weights; dtypes rotate. */
  private static final class Int4Cases {
    private final Draw draw;
    private final QuantDraw quants;
    private final List<Case> cases = new ArrayList<>();

    /** Whether an input of the next cases names the group of each row. */
    private boolean indexed;

    Int4Cases(RandomGenerator random) {
      draw = new Draw(random);
      quants = new QuantDraw(random);
    }

    /**
     * Adds a case in which NaN and infinities spread over their row and numbers near zero remain
     * near zero.
     */
    void addSpecial(int m, int n, int k) {
      cases.add(
          new Case(
              Map.of(
                  "a", draw.special(DType.F16, m, k),
                  "packed", quants.words(n, k / 8),
                  "scales", quants.scales(DType.F16, 1, n)),
              Attributes.of(new MatmulInt4().description(), Map.of("outDtype", "f32")),
              Map.of("c", MatmulInt4.tolerance(DType.F16, DType.F32))));
    }

    void add(int turn, Int4Layout layout, int[] size, String zeroFormat) {
      add(turn, layout, size, zeroFormat, DType.F16);
    }

    private void add(int turn, Int4Layout layout, int[] size, String zeroFormat, DType scale) {
      int n = size[1];
      int k = size[2];
      int groups = size[3] == -1 ? 1 : Math.ceilDiv(k, size[3]);
      var in = turn % 3 == 1 ? DType.BF16 : DType.F16;
      var out = turn % 2 == 0 ? DType.F32 : in;
      var inputs = new HashMap<String, HostTensor>();
      inputs.put("a", left(draw, in, size[0], k));
      inputs.put(
          "packed",
          switch (layout) {
            case K_PACKED -> quants.words(n, k / 8);
            case GPTQ -> quants.words(k / 8, n);
            case AWQ -> quants.words(k, n / 8);
          });
      inputs.put("scales", quants.scales(scale, groups, n));
      int number = cases.size();
      if (number % 4 == 1) {
        inputs.put("bias", draw.normal(number % 8 == 1 ? in : DType.F32, n));
      }
      var attributes =
          new HashMap<String, Object>(Map.of("layout", layout.text(), "groupSize", size[3]));
      if (out == DType.F32) {
        attributes.put("outDtype", "f32");
      }
      if (!zeroFormat.isEmpty()) {
        attributes.put("zeroFormat", zeroFormat);
        inputs.put("zeros", quants.words(groups, n / 8));
      }
      if (indexed) {
        inputs.put(Int4Weights.GROUP_INDICES, quants.groupIndices(k, groups));
      }
      if (number % 3 == 2) {
        inputs.computeIfPresent("packed", (_, words) -> signed(words));
        inputs.computeIfPresent("zeros", (_, words) -> signed(words));
      }
      cases.add(
          new Case(
              inputs,
              Attributes.of(new MatmulInt4().description(), attributes),
              Map.of("c", MatmulInt4.tolerance(in, out))));
    }
  }

  static List<Case> fp4(RandomGenerator random, boolean quick) {
    var draw = new Draw(random);
    var quants = new QuantDraw(random);
    var cases = new ArrayList<Case>();
    // M, N, K; in the last case, K is split and one share is shorter
    int[][] sizes =
        quick
            ? new int[][] {{2, 5, 64}}
            : new int[][] {{1, 13, 96}, {17, 40, 128}, {65, 72, 160}, {3, 8, 544}, {18, 11, 1120}};
    int turn = 0;
    for (var format : Fp4Format.values()) {
      for (var in : List.of(DType.F16, DType.BF16, DType.F32)) {
        for (var size : sizes) {
          cases.add(fp4(draw, quants, format, in, size, turn++));
        }
      }
    }
    if (!quick) {
      // rows of weights that are not aligned to 16 bytes
      cases.add(fp4(draw, quants, Fp4Format.NVFP4, DType.F16, new int[] {5, 13, 48}, 0));
      cases.add(fp4(draw, quants, Fp4Format.NVFP4, DType.BF16, new int[] {17, 8, 80}, 1));
    }
    return cases;
  }

  private static Case fp4(
      Draw draw, QuantDraw quants, Fp4Format format, DType in, int[] size, int turn) {
    int n = size[1];
    int k = size[2];
    var inputs = quants.fp4("weights", "scales", format, n, k);
    inputs.put("a", left(draw, in, size[0], k));
    if (turn % 2 == 0) {
      inputs.put("scale", quants.scales(DType.F32));
    }
    if (turn % 3 == 1) {
      inputs.put("bias", draw.normal(turn % 2 == 0 ? DType.F32 : in, n));
    }
    var op = new MatmulFp4();
    var given =
        Attributes.of(op.description(), turn % 4 == 3 ? Map.of("outDtype", "f32") : Map.of());
    var out = turn % 4 == 3 ? DType.F32 : in;
    return new Case(inputs, given, Map.of("c", MatmulFp4.tolerance(in, out, k)));
  }

  private static HostTensor signed(HostTensor words) {
    return new HostTensor(new TensorType(DType.I32, words.type().shape()), words.data());
  }

  static List<Case> qkv(QkvProject op, boolean int4, RandomGenerator random, boolean quick) {
    var draw = new Draw(random);
    var quants = new QuantDraw(random);
    var cases = new ArrayList<Case>();
    // M, Nq, Nkv, K
    var sizes =
        quick
            ? new int[][] {{3, 18, 10, 40}}
            : new int[][] {
              {1, 64, 32, 64},
              {17, 18, 34, 48},
              {63, 13, 5, 40},
              {65, 34, 18, 72},
              {5, 7, 1, int4 ? 8 : 31}
            };
    int turn = 0;
    for (var size : sizes) {
      var in = turn++ % 2 == 0 ? DType.F16 : DType.BF16;
      var scale = turn == sizes.length ? DType.F32 : DType.F16;
      int k = size[3];
      var inputs = new HashMap<String, HostTensor>();
      inputs.put("x", left(draw, in, size[0], k));
      for (var letter : QkvProject.LETTERS) {
        int n = letter.equals("q") ? size[1] : size[2];
        inputs.put("w" + letter, int4 ? quants.words(n, k / 8) : quants.bytes(k, n));
        inputs.put(
            "scale" + letter.toUpperCase(Locale.ROOT),
            int4 ? quants.scales(scale, Math.ceilDiv(k, 32), n) : quants.scales(DType.F32));
        if (turn % 2 == 1) {
          inputs.put(
              "bias" + letter.toUpperCase(Locale.ROOT), draw.normal(turn == 1 ? in : DType.F32, n));
        }
      }
      cases.add(
          new Case(
              inputs,
              Attributes.of(op.description(), int4 ? Map.of("groupSize", 32) : Map.of()),
              Map.of(
                  "q", QkvProject.tolerance(in),
                  "k", QkvProject.tolerance(in),
                  "v", QkvProject.tolerance(in))));
    }
    return cases;
  }
}
