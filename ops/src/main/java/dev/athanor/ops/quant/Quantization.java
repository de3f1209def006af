package dev.athanor.ops.quant;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/**
 * A family of dtypes to which {@link QuantizeOp} quantizes.
 *
 * @param dtypes dtypes of q; if there are several, {@code outDtype} selects one
 * @param granularities values of {@code per}
 */
record Quantization(
    List<DType> dtypes, List<Granularity> granularities, OpDescription description) {

  /** The attribute that selects the granularity of the scales. */
  private static final String PER = "per";

  private static final String OUT_DTYPE = "outDtype";

  private static final Set<DType> INPUTS = Set.of(DType.F32, DType.F16, DType.BF16);

  /** The elements that share a scale. */
  enum Granularity {
    TENSOR,
    ROW,
    GROUP;

    String text() {
      return Names.of(this);
    }
  }

  /** Signed bytes. The greatest magnitude is 127, so that the range is symmetric. */
  static final Quantization INT8 =
      of(
          "quantize-int8",
          "Quantizes a tensor to 8-bit integers, symmetrically: the largest magnitude becomes"
              + " 127.",
          List.of(DType.I8),
          List.of(Granularity.TENSOR, Granularity.ROW),
          "the input tensor; NaN becomes 0 and infinity ±127, and neither affects the scale",
          "granularity of the scale: one for the tensor, or one per row",
          "x / scale, rounded; from -127 to 127",
          "[] or […]",
          "scale factor of q; one per row has the shape of x without its last dimension",
          "scale = max(max |x| / 127, 2^-126) over all finite x, or 0 if they are all 0;"
              + " q = x / scale in f32, rounded to nearest, ties to even, and clamped to -127 …"
              + " 127");

  /** Floating-point numbers of eight bits, as matmul-fp8 takes them. */
  static final Quantization FP8 =
      of(
          "quantize-fp8",
          "Quantizes a tensor to 8-bit floating point: the largest magnitude becomes the greatest"
              + " finite number.",
          List.of(DType.E4M3, DType.E5M2),
          List.of(Granularity.TENSOR, Granularity.ROW, Granularity.GROUP),
          "the input tensor. NaN stays NaN; infinity becomes ±448 in e4m3, which has no infinity,"
              + " and stays infinite in e5m2. Neither affects the scale",
          "granularity of the scale: one for the tensor, one per row, or one per group of 128"
              + " elements of a row; the last group of a row may be shorter",
          "x / scale, rounded",
          "[] or […] or […, ⌈N/128⌉]",
          "scale factor of q; one per row has the shape of x without its last dimension",
          "scale = max(max |x| / greatest, 2^-126) over all finite x that share it, or 0 if they"
              + " are all 0; greatest is 448 for e4m3 and 57344 for e5m2. q = x / scale in f32,"
              + " rounded to nearest, ties to even, and saturated in e4m3; if scale is 0, q = x");

  private static Quantization of(
      String name,
      String summary,
      List<DType> dtypes,
      List<Granularity> granularities,
      String x,
      String per,
      String q,
      String scaleShape,
      String scale,
      String formula) {
    var names = granularities.stream().map(Granularity::text).toList();
    var attributes = new ArrayList<Attribute>();
    attributes.add(Attribute.choice(PER, names.getFirst(), names, per));
    boolean several = dtypes.size() > 1;
    if (several) {
      var texts = dtypes.stream().map(DType::text).toList();
      attributes.add(Attribute.choice(OUT_DTYPE, texts.getFirst(), texts, "dtype of q"));
    }
    return new Quantization(
        dtypes,
        granularities,
        new OpDescription(
            name,
            summary,
            List.of(new Input("x", "[…, N]", INPUTS, false, x)),
            attributes,
            List.of(
                Output.of("q", "[…, N]", several ? OUT_DTYPE : dtypes.getFirst().text(), q),
                Output.of("scale", scaleShape, "f32", scale)),
            formula,
            "3 per element"));
  }

  /** Returns the dtype of q. */
  DType dtype(Attributes attributes) {
    return dtypes.size() == 1
        ? dtypes.getFirst()
        : DType.of(attributes.choice(OUT_DTYPE)).orElseThrow();
  }

  /** Returns the attributes of a call. */
  Map<String, String> attributes(Granularity granularity, DType dtype) {
    return dtypes.size() == 1
        ? Map.of(PER, granularity.text())
        : Map.of(PER, granularity.text(), OUT_DTYPE, dtype.text());
  }

  /** Returns the elements that share a scale in a call. */
  Granularity granularity(Attributes attributes) {
    var per = attributes.choice(PER);
    return Stream.of(Granularity.values())
        .filter(each -> each.text().equals(per))
        .findFirst()
        .orElseThrow();
  }

  /** Returns the greatest magnitude of q. */
  static double greatest(DType dtype) {
    return dtype == DType.I8 ? 127 : dtype.greatest();
  }
}
