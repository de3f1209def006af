package dev.athanor.ops.reduce;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op.Case;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.random.RandomGenerator;

/** Test cases of reductions: awkward sizes, several dimensions, dtypes and special values. */
final class ReduceCases {

  private static final List<Shape> ROWS =
      List.of(
          Shape.of(3, 1),
          Shape.of(5, 7),
          Shape.of(2, 9, 13),
          Shape.of(3, 100),
          Shape.of(2, 1000),
          Shape.of(127),
          Shape.of(1, 4099),
          Shape.of(8200));

  private static final List<Shape> COLUMNS =
      List.of(
          Shape.of(1, 5),
          Shape.of(7, 33),
          Shape.of(2, 13, 16),
          Shape.of(3, 65, 40),
          Shape.of(300, 24),
          Shape.of(127, 2, 1));

  /** The reductions with all sizes; the others differ only in their states. */
  private static final Set<Reduction> SIZED =
      Set.of(Reduction.SUM, Reduction.MEAN, Reduction.MAX, Reduction.MIN, Reduction.ARGMAX);

  private static final Map<String, Object> LAST = Map.of(ReduceOps.SELECT_LAST, true);
  private static final Map<String, Object> NARROW = Map.of(ReduceProblem.OUT, "i32");

  private final ReduceOp op;
  private final Draw draw;
  private final boolean quick;
  private final List<Case> cases = new ArrayList<>();

  ReduceCases(ReduceOp op, RandomGenerator random, boolean quick) {
    this.op = op;
    this.draw = new Draw(random);
    this.quick = quick;
  }

  List<Case> all() {
    for (var choices : choices()) {
      var kind = op.reduction().apply(attributes(choices));
      // reductions differ only in their states, so only the first is tested with all sizes
      boolean some = quick || !cases.isEmpty();
      for (var dtype : kind.dtypes().stream().sorted().toList()) {
        boolean whole = !dtype.isFloat();
        if (SIZED.contains(kind) && !whole) {
          sizes(kind, choices, dtype, some);
          special(choices, dtype);
        } else if (dtype == DType.F32 || !(choices.equals(LAST) || choices.equals(NARROW))) {
          brief(kind, choices, dtype);
        }
      }
      axes(kind, choices, kind.dtypes().contains(DType.F32) ? DType.F32 : DType.BOOL);
    }
    return cases;
  }

  /** Returns the attributes of calls besides the axes: each choice once. */
  private List<Map<String, Object>> choices() {
    var all = new ArrayList<Map<String, Object>>();
    for (var attribute : op.description().attributes()) {
      for (var choice : attribute.choices()) {
        all.add(Map.of(attribute.name(), choice));
      }
    }
    if (op.description().attribute(ReduceOps.SELECT_LAST).isPresent()) {
      all.add(LAST);
    }
    return all;
  }

  private void sizes(Reduction kind, Map<String, Object> choices, DType dtype, boolean some) {
    var rows = some ? ROWS.subList(2, 4) : ROWS.subList(0, ROWS.size() - 1);
    var columns = some ? COLUMNS.subList(1, 3) : COLUMNS;
    for (var shape : rows) {
      add(choices, Map.of("axis", -1), numbers(kind, new TensorType(dtype, shape)));
    }
    var longest = numbers(kind, new TensorType(dtype, ROWS.getLast()));
    add(choices, Map.of("axis", -1), longest);
    for (var shape : columns) {
      add(choices, Map.of("axis", -2), numbers(kind, new TensorType(dtype, shape)));
    }
    add(choices, Map.of("axis", 0), numbers(kind, TensorType.of(dtype, 4, 3, 5)));
  }

  /** Adds rows and columns with one access width. */
  private void brief(Reduction kind, Map<String, Object> choices, DType dtype) {
    add(choices, Map.of("axis", -1), numbers(kind, TensorType.of(dtype, 2, 1040)));
    add(choices, Map.of("axis", -2), numbers(kind, TensorType.of(dtype, 2, 13, 16)));
    // a product of parts may overflow where the whole does not
    if (dtype.isFloat() && kind != Reduction.PROD) {
      add(choices, Map.of("axis", 1), draw.special(dtype, 8, 16));
      add(choices, Map.of("axis", 0), draw.special(dtype, 14, 16));
      add(choices, Map.of("axis", 1), draw.integers(-2, 2, TensorType.of(dtype, 3, 272)));
    }
  }

  /** Adds separated dimensions: several launches, whose states are split if they are many. */
  private void axes(Reduction kind, Map<String, Object> choices, DType dtype) {
    add(choices, Map.of(ReduceProblem.KEEPDIMS, true), numbers(kind, TensorType.of(dtype, 3, 5)));
    if (op.description().attribute(ReduceProblem.AXES).isEmpty()) {
      return;
    }
    add(choices, Map.of("axes", List.of()), numbers(kind, TensorType.of(dtype, 2, 3, 5)));
    add(
        choices,
        Map.of("axes", List.of(2, 0), ReduceProblem.KEEPDIMS, true),
        numbers(kind, TensorType.of(dtype, 3, 5, 40)));
    add(choices, Map.of("axes", List.of(-2, -4)), numbers(kind, TensorType.of(dtype, 9, 2, 16, 3)));
    if (kind == Reduction.SUM) {
      add(choices, Map.of("axes", List.of(0, 2)), numbers(kind, TensorType.of(dtype, 600, 2, 700)));
      add(
          choices,
          Map.of("axes", List.of(0, 2, 4)),
          numbers(kind, TensorType.of(dtype, 4, 3, 5, 2, 7)));
      add(choices, Map.of("axes", List.of(0, 1)), numbers(kind, TensorType.of(dtype, 1, 1, 6)));
      add(choices, Map.of("axes", List.of()), numbers(kind, TensorType.of(dtype)));
    }
  }

  private void special(Map<String, Object> choices, DType dtype) {
    add(choices, Map.of("axis", 1), draw.special(dtype, 8, 13));
    add(choices, Map.of("axis", 0), draw.special(dtype, 14, 9));
    // many equal numbers, the first or last of which must win
    add(choices, Map.of("axis", 1), draw.integers(-2, 2, TensorType.of(dtype, 3, 260)));
  }

  private HostTensor numbers(Reduction kind, TensorType type) {
    return numbers(draw, kind, type);
  }

  /** Returns numbers whose reduction neither overflows nor loses all digits. */
  static HostTensor numbers(Draw draw, Reduction kind, TensorType type) {
    if (!type.dtype().isFloat()) {
      return switch (type.dtype()) {
        case BOOL -> draw.integers(0, 1, type);
        case U8 -> draw.integers(0, 255, type);
        case I8 -> draw.integers(-128, 127, type);
        case I32 -> draw.integers(Integer.MIN_VALUE, Integer.MAX_VALUE, type);
        default -> draw.integers(Long.MIN_VALUE, Long.MAX_VALUE - 1, type);
      };
    }
    return switch (kind) {
      case PROD -> draw.uniform(0.95, 1.05, type);
      case LOG_SUM -> draw.uniform(0.1, 2, type);
      case VARIANCE -> draw.normal(100, 1, type);
      default -> draw.normal(0, 1, type);
    };
  }

  private Attributes attributes(Map<String, ?> given) {
    return Attributes.of(op.description(), given);
  }

  private void add(Map<String, Object> choices, Map<String, ?> axes, HostTensor x) {
    var given = new HashMap<String, Object>(choices);
    given.putAll(axes);
    var attributes = attributes(given);
    var in = x.type().dtype();
    var out = DType.of(attributes.choice(ReduceProblem.OUT)).orElse(in);
    var tolerance = op.tolerance("y", out, Map.of(), attributes);
    cases.add(new Case(Map.of("x", x), attributes, Map.of("y", tolerance)));
  }
}
