package dev.athanor.models.onnx.operator;

import dev.athanor.models.graph.Value;
import dev.athanor.models.onnx.operator.Operator.NotExpressible;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/** Operators that move elements: shapes, copies, gather, scatter and sort. */
final class Moves {

  /** Integers that ops accept as the ends of slices. */
  private static final long MOST = 1L << 53;

  static final Map<String, Operator> OPERATORS = new HashMap<>();

  static {
    single("Reshape", Moves::reshape);
    single("Flatten", Moves::flatten);
    single(
        "Squeeze", node -> axes(node).map(node.x(0)::squeeze).orElseGet(() -> squeezed(node.x(0))));
    single("Unsqueeze", node -> node.x(0).unsqueeze(axes(node).orElse(List.of())));
    single("Shape", Moves::shape);
    single("Size", node -> integers(node, List.of(), node.x(0).elements()));
    single("Constant", Moves::constant);
    single("ConstantOfShape", Moves::constantOfShape);
    single("Transpose", Moves::transpose);
    single(
        "Concat",
        node -> node.one("concat", Map.of("axis", node.integer("axis", 0)), Elementwise.all(node)));
    OPERATORS.put("Split", Moves::split);
    single("Slice", Moves::slice);
    single("Pad", Moves::pad);
    single("CenterCropPad", Moves::center);
    single("Tile", node -> node.one("tile", Map.of("repeats", required(node, 1)), node.x(0)));
    single("Expand", Moves::expand);
    single("Trilu", Moves::triangle);
    single("DepthToSpace", node -> blocks(node, "depth-to-space"));
    single("SpaceToDepth", node -> blocks(node, "space-to-depth"));
    single("EyeLike", Moves::eye);
    single("Compress", Moves::compress);
    single("Gather", Moves::gather);
    single("ArrayFeatureExtractor", Moves::lastFeatures);
    single(
        "GatherElements",
        node ->
            node.one(
                "gather-elements", Map.of("axis", node.integer("axis", 0)), Elementwise.all(node)));
    single(
        "GatherND",
        node ->
            node.one(
                "gather-nd",
                Map.of("batchDims", node.integer("batch_dims", 0)),
                Elementwise.all(node)));
    single("Scatter", Moves::scatterElements);
    single("ScatterElements", Moves::scatterElements);
    single(
        "ScatterND",
        node ->
            node.one(
                "scatter-nd",
                Map.of("reduction", node.text("reduction", "none")),
                Elementwise.all(node)));
    single("TensorScatter", Moves::tensorScatter);
    single("OneHot", Moves::oneHot);
    single("Hardmax", Moves::hardmax);
    OPERATORS.put("TopK", Moves::topK);
    single("ReverseSequence", Moves::reverseSequence);
    single("CumSum", node -> cumulative(node, "cumsum"));
    single("CumProd", node -> cumulative(node, "cumprod"));
  }

  private Moves() {}

  private static void single(String name, Operator.Single operator) {
    OPERATORS.put(name, Operator.of(operator));
  }

  /** Returns axes, which are an attribute up to version 12 of some operators, then an input. */
  static java.util.Optional<List<Long>> axes(Node node) {
    return node.integersOf(1).or(() -> node.integers("axes"));
  }

  private static List<Long> required(Node node, int input) {
    return node.integersOf(input)
        .orElseThrow(() -> new IllegalArgumentException("input %d is missing".formatted(input)));
  }

  private static Value integers(Node node, List<Long> extents, long... values) {
    return node.constant(
        DType.I64, extents, LongStream.of(values).mapToDouble(each -> each).toArray());
  }

  private static Value reshape(Node node) {
    var x = node.x(0);
    var asked = node.integersOf(1).or(() -> node.integers("shape")).orElseThrow();
    boolean zeros = node.flag("allowzero", false);
    var extents = new ArrayList<Long>();
    for (int i = 0; i < asked.size(); i++) {
      extents.add(asked.get(i) == 0 && !zeros ? x.extent(i) : asked.get(i));
    }
    return x.reshape(extents);
  }

  private static Value flatten(Node node) {
    var x = node.x(0);
    long axis = node.integer("axis", 1);
    int first = (int) (axis < 0 ? axis + x.rank() : axis);
    var extents = x.shape().extents();
    return x.reshape(product(extents.subList(0, first)), product(extents.subList(first, x.rank())));
  }

  static long product(List<Long> extents) {
    return extents.stream().reduce(1L, Math::multiplyExact);
  }

  private static Value squeezed(Value x) {
    return x.reshape(x.shape().extents().stream().filter(extent -> extent != 1).toList());
  }

  private static Value shape(Node node) {
    int rank = node.x(0).rank();
    int start = clamped(node.integer("start", 0), rank);
    int end = Math.max(start, clamped(node.integer("end", rank), rank));
    var extents = node.x(0).shape().extents().subList(start, end);
    return integers(
        node,
        List.of((long) extents.size()),
        extents.stream().mapToLong(Long::longValue).toArray());
  }

  private static int clamped(long index, int rank) {
    return Math.clamp(index < 0 ? index + rank : index, 0, rank);
  }

  private static Value constant(Node node) {
    if (node.has("value")) {
      return node.constant(node.tensor("value").orElseThrow());
    }
    if (node.has("value_int")) {
      return integers(node, List.of(), node.integer("value_int", 0));
    }
    if (node.has("value_float")) {
      return node.constant(DType.F32, List.of(), node.number("value_float", 0));
    }
    if (node.has("value_ints")) {
      var given = node.integers("value_ints").orElseThrow();
      return integers(
          node, List.of((long) given.size()), given.stream().mapToLong(each -> each).toArray());
    }
    if (node.has("value_floats")) {
      var given = node.numbers("value_floats").orElseThrow();
      return node.constant(
          DType.F32,
          List.of((long) given.size()),
          given.stream().mapToDouble(Float::doubleValue).toArray());
    }
    throw new NotExpressible("a constant of strings or a sparse one");
  }

  private static Value constantOfShape(Node node) {
    var value = node.tensor("value").orElseGet(() -> HostTensor.zeros(TensorType.of(DType.F32, 1)));
    return expanded(node, node.constant(value).reshape(), required(node, 0));
  }

  static Value expanded(Node node, Value x, List<Long> extents) {
    return x.shape().extents().equals(extents)
        ? x
        : node.one("expand", Map.of("shape", extents), x);
  }

  private static Value expand(Node node) {
    return node.one("expand", Map.of("shape", required(node, 1)), node.x(0));
  }

  private static Value transpose(Node node) {
    var x = node.x(0);
    var reversed = IntStream.iterate(x.rank() - 1, i -> i >= 0, i -> i - 1).boxed().toList();
    return node.permute(
        x, node.integers("perm").map(axes -> axes.stream().map(x::axis).toList()).orElse(reversed));
  }

  private static List<Value> split(Node node) {
    var x = node.x(0);
    int axis = x.axis(node.integer("axis", 0));
    var sizes = node.integersOf(1).or(() -> node.integers("split")).orElse(null);
    if (sizes == null) {
      long each = Math.ceilDiv(x.extent(axis), node.outputs());
      sizes = new ArrayList<>(Collections.nCopies(node.outputs() - 1, each));
      sizes.add(x.extent(axis) - each * (node.outputs() - 1));
    }
    return node.all("split", Map.of("axis", (long) axis, "sizes", sizes), x);
  }

  private static Value slice(Node node) {
    var starts = node.integersOf(1).or(() -> node.integers("starts")).orElseThrow();
    var ends = node.integersOf(2).or(() -> node.integers("ends")).orElseThrow();
    var attributes = new HashMap<String, Object>();
    attributes.put("starts", bounded(starts));
    attributes.put("ends", bounded(ends));
    node.integersOf(3)
        .or(() -> node.integers("axes"))
        .ifPresent(axes -> attributes.put("axes", axes));
    node.integersOf(4).ifPresent(steps -> attributes.put("steps", bounded(steps)));
    return node.one("slice", attributes, node.x(0));
  }

  private static List<Long> bounded(List<Long> indices) {
    return indices.stream().map(index -> Math.clamp(index, -MOST, MOST)).toList();
  }

  private static Value pad(Node node) {
    var x = node.x(0);
    var pads = node.integersOf(1).or(() -> node.integers("pads")).orElseThrow();
    var axes = new ArrayList<Integer>();
    node.integersOf(3)
        .ifPresentOrElse(
            given -> given.forEach(axis -> axes.add(x.axis(axis))),
            () -> IntStream.range(0, x.rank()).forEach(axes::add));
    var before = new long[x.rank()];
    var after = new long[x.rank()];
    for (int i = 0; i < axes.size(); i++) {
      before[axes.get(i)] = pads.get(i);
      after[axes.get(i)] = pads.get(i + axes.size());
    }
    double fill = node.numbersOf(2).map(given -> given[0]).orElseGet(() -> node.number("value", 0));
    return node.one(
        "pad",
        Map.of(
            "before",
            list(before),
            "after",
            list(after),
            "mode",
            node.text("mode", "constant"),
            "value",
            fill),
        x);
  }

  static List<Long> list(long... values) {
    return LongStream.of(values).boxed().toList();
  }

  private static Value center(Node node) {
    var x = node.x(0);
    var axes =
        node.integers("axes").orElseGet(() -> LongStream.range(0, x.rank()).boxed().toList());
    var starts = new long[x.rank()];
    var before = new long[x.rank()];
    var after = new long[x.rank()];
    var ends = x.shape().extents().stream().mapToLong(Long::longValue).toArray();
    var wanted = required(node, 1);
    for (int i = 0; i < axes.size(); i++) {
      int axis = x.axis(axes.get(i));
      long more = wanted.get(i) - x.extent(axis);
      if (more < 0) {
        starts[axis] = -more / 2;
        ends[axis] = starts[axis] + wanted.get(i);
      } else {
        before[axis] = more / 2;
        after[axis] = more - more / 2;
      }
    }
    var inside = node.one("slice", Map.of("starts", list(starts), "ends", list(ends)), x);
    return node.one("pad", Map.of("before", list(before), "after", list(after)), inside);
  }

  private static Value triangle(Node node) {
    long diagonal = node.integersOf(1).map(List::getFirst).orElse(0L);
    return node.one(
        "triangle",
        Map.of("diagonal", diagonal, "part", node.flag("upper", true) ? "upper" : "lower"),
        node.x(0));
  }

  private static Value blocks(Node node, String op) {
    return node.one(
        op,
        Map.of("block", node.integer("blocksize", 1), "mode", node.text("mode", "DCR")),
        node.x(0));
  }

  private static Value eye(Node node) {
    var rows = node.range(node.x(0).extent(0)).reshape(-1, 1);
    var columns = node.range(node.x(0).extent(1));
    return node.map(
        "x1 - x0 == c0",
        node.dtype("dtype", node.x(0).dtype()),
        List.of(node.integer("k", 0)),
        rows,
        columns);
  }

  /** Gathers the elements where the condition, which determines the shape, is true. */
  private static Value compress(Node node) {
    var condition = node.numbersOf(1).orElseThrow();
    var kept = IntStream.range(0, condition.length).filter(i -> condition[i] != 0).toArray();
    var index =
        node.constant(
            DType.I32, List.of((long) kept.length), IntStream.of(kept).asDoubleStream().toArray());
    var x = node.has("axis") ? node.x(0) : node.x(0).reshape(-1);
    return gathered(node, x, index, x.axis(node.integer("axis", 0)));
  }

  private static Value gather(Node node) {
    var table = node.x(0);
    return gathered(node, table, node.x(1), table.axis(node.integer("axis", 0)));
  }

  private static Value gathered(Node node, Value table, Value index, int axis) {
    var others = IntStream.range(0, table.rank()).filter(i -> i != axis).boxed().toList();
    var order = new ArrayList<Integer>();
    order.add(axis);
    order.addAll(others);
    var first = node.permute(table, order);
    long extent = first.extent(0);
    var positive = node.map("where(x < 0, x + c0, x)", null, List.of(extent), index);
    var rows =
        node.one(
            "gather",
            Map.of(),
            first.reshape(extent, extent == 0 ? 0 : first.elements() / extent),
            positive);
    var extents = new ArrayList<>(index.shape().extents());
    extents.addAll(first.shape().extents().subList(1, first.rank()));
    // the dimensions before the axis, those of the index, then the others
    var result = new ArrayList<Integer>();
    IntStream.range(0, axis).forEach(i -> result.add(index.rank() + i));
    IntStream.range(0, index.rank()).forEach(result::add);
    IntStream.range(axis, others.size()).forEach(i -> result.add(index.rank() + i));
    return node.permute(rows.reshape(extents), result);
  }

  private static Value lastFeatures(Node node) {
    var rows = node.one("gather", Map.of(), node.permute(node.x(0), 1, 0), node.x(1).reshape(-1));
    return node.permute(rows, 1, 0);
  }

  private static Value scatterElements(Node node) {
    return node.one(
        "scatter-elements",
        Map.of("axis", node.integer("axis", 0), "reduction", node.text("reduction", "none")),
        Elementwise.all(node));
  }

  private static Value tensorScatter(Node node) {
    return node.one(
        "copy",
        Map.of("axis", node.integer("axis", -2), "mode", node.text("mode", "linear")),
        node.x(0),
        node.x(1),
        node.input(2).orElse(null));
  }

  private static Value oneHot(Node node) {
    var index = node.x(0).dtype().isFloat() ? node.cast(node.x(0), DType.I64) : node.x(0);
    long depth = (long) node.numbersOf(1).orElseThrow()[0];
    return node.one(
        "one-hot", Map.of("depth", depth, "axis", node.integer("axis", -1)), index, node.x(2));
  }

  private static Value hardmax(Node node) {
    var x = node.x(0);
    long axis = node.integer("axis", -1);
    var index = node.one("argmax", Map.of("axis", axis), x);
    var values = node.constant(x.dtype(), List.of(2L), 0, 1);
    return node.one(
        "one-hot", Map.of("depth", x.extent(x.axis(axis)), "axis", axis), index, values);
  }

  private static List<Value> topK(Node node) {
    long k = node.integersOf(1).map(List::getFirst).orElseGet(() -> node.integer("k", 1));
    var y =
        node.run(
            "top-k",
            Map.of("x", node.x(0)),
            Map.of(
                "k", k, "axis", node.integer("axis", -1), "largest", node.flag("largest", true)));
    return List.of(y.get("values"), y.get("indices"));
  }

  private static Value reverseSequence(Node node) {
    var x = node.x(0);
    int time = x.axis(node.integer("time_axis", 0));
    int batch = x.axis(node.integer("batch_axis", 1));
    var index =
        node.map(
            "where(x0 < x1, x1 - 1 - x0, x0)",
            node.range(x.extent(time)).along(time, x.rank()),
            node.x(1).along(batch, x.rank()));
    var all = node.one("expand", Map.of("shape", x.shape().extents()), index);
    return node.one("gather-elements", Map.of("axis", (long) time), x, all);
  }

  private static Value cumulative(Node node, String op) {
    long axis = (long) node.numbersOf(1).orElseThrow()[0];
    return node.one(
        op,
        Map.of(
            "axis",
            axis,
            "exclusive",
            node.flag("exclusive", false),
            "reverse",
            node.flag("reverse", false)),
        node.x(0));
  }
}
