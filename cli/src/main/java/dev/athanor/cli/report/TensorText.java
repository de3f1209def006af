package dev.athanor.cli.report;

import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import java.lang.foreign.ValueLayout;
import java.math.BigDecimal;
import java.math.MathContext;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.LongStream;

/**
 * Prints a tensor like NumPy: in nested brackets and, if it has more than {@value #MAX_ELEMENTS}
 * elements, only the first and last {@value #EDGE} along each dimension.
 */
public final class TensorText {

  private static final int MAX_ELEMENTS = 1000;
  private static final int EDGE = 3;
  private static final int WIDTH = 75;
  private static final MathContext EIGHT_DIGITS = new MathContext(8);
  private static final ValueLayout.OfLong LONG =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  private final HostTensor tensor;
  private final long[] shape;
  private final boolean shortened;
  private final int width;

  private TensorText(HostTensor tensor) {
    this.tensor = tensor;
    shape = tensor.type().shape().extents().stream().mapToLong(Long::longValue).toArray();
    shortened = tensor.type().shape().elements() > MAX_ELEMENTS;
    width = width(0, 0);
  }

  /** Returns the lines. */
  public static List<String> lines(HostTensor tensor) {
    return new TensorText(tensor).lines(0, 0);
  }

  private List<String> lines(int dimension, long offset) {
    if (dimension == shape.length) {
      return List.of(element(offset));
    }
    if (dimension == shape.length - 1) {
      return row(offset);
    }
    var lines = new ArrayList<String>();
    for (long i : indices(dimension)) {
      if (i < 0) {
        lines.add("...");
        continue;
      }
      if (!lines.isEmpty() && shape.length - dimension > 2) {
        lines.add("");
      }
      lines.addAll(lines(dimension + 1, offset + i * stride(dimension)));
    }
    return bracketed(lines);
  }

  private List<String> row(long offset) {
    var lines = new ArrayList<String>();
    var line = new StringBuilder();
    for (long i : indices(shape.length - 1)) {
      var text = i < 0 ? "..." : ("%" + width + "s").formatted(element(offset + i));
      if (!line.isEmpty() && line.length() + 1 + text.length() > WIDTH - shape.length) {
        lines.add(line.toString());
        line.setLength(0);
      }
      line.append(line.isEmpty() ? "" : " ").append(text);
    }
    lines.add(line.toString());
    return bracketed(lines);
  }

  private static List<String> bracketed(List<String> lines) {
    var all = new ArrayList<String>();
    for (int i = 0; i < lines.size(); i++) {
      var line = (i == 0 ? "[" : " ") + lines.get(i) + (i == lines.size() - 1 ? "]" : "");
      all.add(line.stripTrailing());
    }
    return all.isEmpty() ? List.of("[]") : all;
  }

  /** Returns the printed indices along a dimension; -1 stands for the omitted ones. */
  private long[] indices(int dimension) {
    long extent = shape[dimension];
    if (!shortened || extent <= 2 * EDGE) {
      return LongStream.range(0, extent).toArray();
    }
    var shown = new long[2 * EDGE + 1];
    for (int i = 0; i < EDGE; i++) {
      shown[i] = i;
      shown[EDGE + 1 + i] = extent - EDGE + i;
    }
    shown[EDGE] = -1;
    return shown;
  }

  private long stride(int dimension) {
    long stride = 1;
    for (int i = dimension + 1; i < shape.length; i++) {
      stride *= shape[i];
    }
    return stride;
  }

  /** Returns the maximum width of the printed elements. */
  private int width(int dimension, long offset) {
    if (dimension == shape.length) {
      return element(offset).length();
    }
    int widest = 0;
    for (long i : indices(dimension)) {
      if (i >= 0) {
        widest = Math.max(widest, width(dimension + 1, offset + i * stride(dimension)));
      }
    }
    return widest;
  }

  private String element(long index) {
    var dtype = tensor.type().dtype();
    if (dtype == DType.I64) {
      return Long.toString(tensor.data().get(LONG, index * Long.BYTES));
    }
    double value = tensor.get(index);
    if (dtype == DType.BOOL) {
      return value == 0 ? "false" : "true";
    }
    if (!Double.isFinite(value)) {
      return Double.toString(value);
    }
    boolean single = dtype != DType.F64;
    var exact = new BigDecimal(single ? Float.toString((float) value) : Double.toString(value));
    var rounded = exact.round(EIGHT_DIGITS).stripTrailingZeros();
    double size = Math.abs(value);
    return size == 0 || (size >= 1e-4 && size < 1e16)
        ? rounded.toPlainString()
        : rounded.toString().toLowerCase(Locale.ROOT);
  }
}
