package dev.athanor.ops.map;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op.Case;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;

/** Test cases for every dtype, attribute, vector width and kind of broadcast. */
final class ElementwiseCases {

  private static final int[] SIZES = {1, 7, 13, 100, 127, 1000, 4099};
  private static final int[] QUICK_SIZES = {7, 1000};
  private static final int[] WIDTHS = {1, 7, 16, 24, 100};
  private static final int[] QUICK_WIDTHS = {7, 24};

  /** The shapes of two operands. */
  private record Pair(Shape x, Shape y) {}

  /** Every kind of broadcast: rows, columns, scalars, both operands, inner dimensions. */
  private static final List<Pair> PAIRS =
      List.of(
          new Pair(Shape.of(5, 7), Shape.of(7)),
          new Pair(Shape.of(5, 24), Shape.of(24)),
          new Pair(Shape.of(3, 1), Shape.of(1, 4)),
          new Pair(Shape.of(4, 1), Shape.of(4, 33)),
          new Pair(Shape.of(), Shape.of(1000)),
          new Pair(Shape.of(13), Shape.of(1)),
          new Pair(Shape.of(), Shape.of()),
          new Pair(Shape.of(2, 3, 8), Shape.of(3, 1)),
          new Pair(Shape.of(2, 1, 5, 1), Shape.of(3, 1, 6)),
          new Pair(Shape.of(2, 3, 4, 5), Shape.of(2, 1, 4, 1)));

  private final ElementwiseOp op;
  private final Draw draw;
  private final boolean quick;

  ElementwiseCases(ElementwiseOp op, RandomGenerator random, boolean quick) {
    this.op = op;
    this.draw = new Draw(random);
    this.quick = quick;
  }

  List<Case> all() {
    var cases = new ArrayList<Case>();
    var input = op.description().inputs().getFirst();
    for (var dtype : input.dtypes().stream().sorted().toList()) {
      int n = 0;
      for (var attributes : attributes()) {
        if (!op.broadcasts() && input.shape().equals("[…]")) {
          for (int size : quick ? QUICK_SIZES : SIZES) {
            var shape = size % 100 == 0 ? Shape.of(size / 10, 10) : Shape.of(size);
            cases.add(make(attributes, normal(dtype, shape), shape));
          }
        } else if (!op.broadcasts()) {
          var widths = quick ? QUICK_WIDTHS : WIDTHS;
          int width = widths[n++ % widths.length];
          var rows = normal(dtype, Shape.of(3, 5, width));
          cases.add(make(attributes, rows, Shape.of(width)));
          for (var other : others(dtype)) {
            cases.add(make(attributes, rows, Shape.of(width), other));
          }
        } else {
          for (var pair : quick ? PAIRS.subList(0, 3) : PAIRS) {
            cases.add(make(attributes, normal(dtype, pair.x), pair.y));
            cases.add(make(attributes, normal(dtype, pair.y), pair.x));
          }
          cases.add(make(attributes, normal(dtype, Shape.of(4099)), Shape.of(4099)));
        }
        cases.add(make(attributes, draw.special(dtype, 131), Shape.of(131)));
        if (!quick && dtype.bytes() == 2) {
          cases.add(make(attributes, CastCases.everything(dtype), Shape.of(1 << 16)));
        }
      }
    }
    return cases;
  }

  /** Returns attributes of calls: each choice once, and one factor. */
  private List<Map<String, ?>> attributes() {
    var all = new ArrayList<Map<String, ?>>();
    for (var attribute : op.description().attributes()) {
      if (attribute.name().equals(ElementwiseOp.FACTOR)) {
        all.add(Map.of(attribute.name(), -0.3));
      }
      for (var choice : attribute.choices()) {
        all.add(Map.of(attribute.name(), choice));
      }
    }
    return all.isEmpty() ? List.of(Map.of()) : all;
  }

  private HostTensor normal(DType dtype, Shape shape) {
    return draw.normal(0, 3, new TensorType(dtype, shape));
  }

  /** Returns the other dtypes of the last input, given that of the first. */
  private List<DType> others(DType dtype) {
    return op.description().inputs().getLast().agreement().stream()
        .flatMap(rule -> rule.others(dtype).stream())
        .filter(other -> other != dtype)
        .toList();
  }

  private Case make(Map<String, ?> given, HostTensor first, Shape second) {
    return make(given, first, second, first.type().dtype());
  }

  private Case make(Map<String, ?> given, HostTensor first, Shape second, DType ofSecond) {
    var attributes = Attributes.of(op.description(), given);
    var dtype = first.type().dtype();
    var inputs = new HashMap<String, HostTensor>();
    var names = op.description().inputs().stream().map(Input::name).toList();
    inputs.put(names.getFirst(), first);
    if (names.size() > 1) {
      inputs.put(names.getLast(), normal(ofSecond, second));
    }
    var tolerance = op.tolerance("y", dtype, Map.of(), attributes);
    return new Case(inputs, attributes, Map.of("y", tolerance));
  }
}
