package dev.athanor.ops.lift;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op.Case;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.problem.ShapePattern;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;

/** Generates the test cases of kernels. */
final class KernelCases {

  /** Error-prone extents: near the sizes of warps, blocks and vectors. */
  private static final List<Long> EXTENTS =
      List.of(1L, 2L, 3L, 5L, 7L, 31L, 32L, 33L, 100L, 127L, 128L, 129L, 255L, 257L, 1000L);

  private static final List<List<Long>> LEADING =
      List.of(List.of(), List.of(1L), List.of(3L), List.of(2L, 5L), List.of(33L));

  /** The maximum elements of a case; the emulator computes about a million elements per second. */
  private static final long MAX_ELEMENTS = 20_000;

  private static final int SELECTED = 8;
  private static final int QUICK = 2;
  private static final int ATTEMPTS = 200;

  private final KernelOp op;
  private final KernelDefinition definition;
  private final RandomGenerator random;

  KernelCases(KernelOp op, KernelDefinition definition, RandomGenerator random) {
    this.op = op;
    this.definition = definition;
    this.random = random;
  }

  /** Returns the cases of all dtypes; with {@code quick}, the first few of each. */
  List<Case> all(boolean quick) {
    var cases = new ArrayList<Case>();
    for (var dtype : definition.dtypes()) {
      var problems = definition.cases().isEmpty() ? choose(dtype) : given();
      problems.stream()
          .limit(quick ? QUICK : problems.size())
          .flatMap(problem -> types(problem, dtype).map(types -> draw(problem, types, dtype)))
          .forEach(cases::add);
    }
    return cases;
  }

  private List<ProblemText> given() {
    return definition.cases().stream().map(text -> ProblemText.parse(definition, text)).toList();
  }

  /** Selects sizes that the op accepts: first extents of 1, then awkward ones. */
  private List<ProblemText> choose(DType dtype) {
    var found = new ArrayList<ProblemText>();
    for (int attempt = 0; attempt < ATTEMPTS && found.size() < SELECTED; attempt++) {
      var extents = new TreeMap<String, List<Long>>();
      for (var input : definition.inputs()) {
        for (var name : input.shape().names()) {
          extents.put(name, attempt == 0 ? List.of(1L) : extent(name));
        }
      }
      var problem = new ProblemText(extents, attributes(attempt));
      if (!found.contains(problem) && isAccepted(problem, dtype)) {
        found.add(problem);
      }
    }
    return found;
  }

  private List<Long> extent(String name) {
    return name.startsWith(ShapePattern.LEADING)
        ? LEADING.get(random.nextInt(LEADING.size()))
        : List.of(EXTENTS.get(random.nextInt(EXTENTS.size())));
  }

  /** Returns each value of flags and choices in turn; numbers have their defaults. */
  private Map<String, String> attributes(int turn) {
    var values = new LinkedHashMap<String, String>();
    for (var attribute : definition.attributes()) {
      switch (attribute.type()) {
        case BOOLEAN -> values.put(attribute.name(), Boolean.toString(turn % 2 == 1));
        case CHOICE ->
            values.put(
                attribute.name(), attribute.choices().get(turn % attribute.choices().size()));
        default -> {}
      }
    }
    return values;
  }

  private boolean isAccepted(ProblemText problem, DType dtype) {
    try {
      var inputs = types(problem, dtype).findFirst().orElseThrow();
      var outputs = op.outputs(inputs, attributes(problem));
      var temporaries = op.temporaries(inputs, attributes(problem));
      long elements = 0;
      for (var types : List.of(inputs, outputs, temporaries)) {
        for (var type : types.values()) {
          elements += type.shape().elements();
        }
      }
      return elements <= MAX_ELEMENTS;
    } catch (OpException e) {
      return false;
    }
  }

  private Attributes attributes(ProblemText problem) {
    return Attributes.of(op.description(), problem.attributes());
  }

  /** Returns the inputs, first all of them and then without the optional ones. */
  private Stream<Map<String, TensorType>> types(ProblemText problem, DType dtype) {
    var all = allTypes(problem, dtype);
    var required = new LinkedHashMap<>(all);
    definition.inputs().stream()
        .filter(KernelArgument.Tensor::isOptional)
        .forEach(input -> required.remove(input.name()));
    return Stream.<Map<String, TensorType>>of(all, required).distinct();
  }

  private Map<String, TensorType> allTypes(ProblemText problem, DType dtype) {
    var types = new LinkedHashMap<String, TensorType>();
    for (var input : definition.inputs()) {
      var extents = new ArrayList<Long>();
      if (!input.shape().leading().isEmpty()) {
        extents.addAll(extents(problem, input.shape().leading()));
      }
      for (var extent : input.shape().extents()) {
        extents.addAll(
            extent.isNumber()
                ? List.of(Long.parseLong(extent.name()))
                : extents(problem, extent.name()));
      }
      types.put(input.name(), new TensorType(input.dtype(dtype), new Shape(extents)));
    }
    return types;
  }

  private static List<Long> extents(ProblemText problem, String name) {
    return Objects.requireNonNull(problem.extents().get(name), name);
  }

  private Case draw(ProblemText problem, Map<String, TensorType> types, DType dtype) {
    var attributes = attributes(problem);
    Map<String, HostTensor> inputs = op.draw(types, attributes, new Draw(random));
    var tolerances = new LinkedHashMap<String, Tolerance>();
    for (var output : definition.outputs()) {
      tolerances.put(
          output.name(), op.tolerance(output.name(), output.dtype(dtype), types, attributes));
    }
    return new Case(inputs, attributes, tolerances);
  }
}
