package dev.athanor.ops.expression;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op.Case;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;

/** Test cases of expressions: dtypes, broadcasts, awkward sizes and special values. */
final class MapCases {

  private static final List<DType> QUICK_DTYPES = List.of(DType.F32, DType.BF16, DType.I8);

  /** The dtypes of named ops; {@code map} is tested with all. */
  private static final List<DType> DTYPES =
      List.of(DType.F64, DType.F32, DType.F16, DType.BF16, DType.I64, DType.I8, DType.BOOL);

  private final MapOp op;
  private final Draw draw;
  private final boolean quick;
  private final List<Case> cases = new ArrayList<>();

  MapCases(MapOp op, RandomGenerator random, boolean quick) {
    this.op = op;
    this.draw = new Draw(random);
    this.quick = quick;
  }

  List<Case> all() {
    if (op.expression().isPresent()) {
      named();
    } else {
      expressions();
    }
    return cases;
  }

  private void named() {
    var inputs = op.description().inputs();
    for (var dtype : inputs.getLast().dtypes().stream().sorted().toList()) {
      if (!(quick ? QUICK_DTYPES : DTYPES).contains(dtype) && cases.size() > 1) {
        continue;
      }
      for (int size : quick ? new int[] {37} : new int[] {1, 37, 4099}) {
        var given = new LinkedHashMap<String, HostTensor>();
        for (var input : inputs) {
          var own = input.dtypes().contains(dtype) ? dtype : DType.BOOL;
          given.put(input.name(), numbers(own, Shape.of(size)));
        }
        add(given, attributes());
      }
    }
  }

  /** Returns values of required attributes: the clamp's. */
  private Map<String, ?> attributes() {
    return op.description().attributes().stream().anyMatch(Attribute::required)
        ? Map.of("min", 1, "max", 3)
        : Map.of();
  }

  /** Returns special and random numbers of which no operation on floats loses all digits. */
  private HostTensor numbers(DType dtype, Shape shape) {
    if (dtype.isFloat()) {
      return draw.uniform(0.5, 4, new TensorType(dtype, shape));
    }
    long most = dtype == DType.BOOL ? 1 : 100;
    boolean signed = dtype == DType.I8 || dtype == DType.I16 || dtype == DType.I32;
    return draw.integers(
        signed || dtype == DType.I64 ? -most : 0, most, new TensorType(dtype, shape));
  }

  private void add(Map<String, HostTensor> inputs, Map<String, ?> given) {
    var attributes = Attributes.of(op.description(), given);
    var types = HostTensor.types(inputs);
    var dtype =
        op.compile(inputs.values().stream().map(HostTensor::type).toList(), attributes)
            .program()
            .output();
    cases.add(
        new Case(inputs, attributes, Map.of("y", op.tolerance("y", dtype, types, attributes))));
  }

  private void map(String expression, String constants, String output, HostTensor... operands) {
    var inputs = new LinkedHashMap<String, HostTensor>();
    for (int i = 0; i < operands.length; i++) {
      inputs.put("x" + i, operands[i]);
    }
    var given = new HashMap<String, String>(Map.of("expression", expression));
    if (!constants.isEmpty()) {
      given.put("constants", constants);
    }
    if (!output.isEmpty()) {
      given.put("outDtype", output);
    }
    add(inputs, given);
  }

  private HostTensor normal(DType dtype, long... extents) {
    return draw.normal(0, 3, TensorType.of(dtype, extents));
  }

  private HostTensor integers(DType dtype, long... extents) {
    return numbers(dtype, Shape.of(extents));
  }

  private void expressions() {
    map("where(x > 0, x, c0 * expm1(x))", "1.5", "", normal(DType.F32, 1003));
    map(
        "x0 * x1 + x2",
        "",
        "",
        normal(DType.F16, 5, 24),
        normal(DType.F16, 24),
        normal(DType.F16, 5, 1));
    map("(x0 + 2 * x1) // 3 - x0 % 7", "", "", integers(DType.I8, 77), integers(DType.U8, 77));
    map(
        "x0 << x1 ^ x0 >> 2 | ~x1 & 6",
        "",
        "",
        integers(DType.I32, 3, 35),
        integers(DType.I32, 35));
    map("isnan(x) || x == inf || !isfinite(x)", "", "", draw.special(DType.F32, 131));
    map("max(min(x, 2), c0)", "-1", "", draw.special(DType.BF16, 131));
    map(
        "sin(x0) * x1 + x2",
        "",
        "",
        normal(DType.F32, 4, 1, 7),
        integers(DType.BOOL, 3, 7),
        integers(DType.I64, 1));
    map("x0 / 3", "", "f64", integers(DType.I16, 40));
    map("abs(x) ** 1.5 + x ** 2", "", "f16", normal(DType.F32, 41));
    map("x0 * x1 - floor(x0)", "", "i16", integers(DType.U32, 19), integers(DType.I16, 19));
    if (quick) {
      return;
    }
    for (var dtype : MapOp.DTYPES.stream().sorted().toList()) {
      for (int size : new int[] {1, 15, 16, 1000, 4099}) {
        map(
            "where(x0 > x1, x0 + x1, x1 - 2)",
            "",
            "",
            numbers(dtype, Shape.of(size)),
            numbers(dtype, Shape.of(size)));
      }
      map(
          "abs(x0) + x1 * 2",
          "",
          "",
          numbers(dtype, Shape.of(2, 1, 5, 8)),
          numbers(dtype, Shape.of(3, 1, 8)));
      map(
          "x0 + x1 + x2",
          "",
          "",
          numbers(dtype, Shape.of(7, 1)),
          numbers(dtype, Shape.of(16)),
          numbers(dtype, Shape.of()));
      map("i32(x) + 1", "", "", numbers(dtype, Shape.of(33)));
      map("(x < 1.5) ^ (x > 0)", "", "", numbers(dtype, Shape.of(40)));
    }
    map("exp(x0) + log1p(abs(x0))", "", "", normal(DType.F16, 4099));
    map("x0 ** x1", "", "", draw.special(DType.F32, 131), normal(DType.F32, 131));
    map("abs(x0) ** x1", "", "", normal(DType.F32, 1000), normal(DType.F32, 1000));
  }
}
