package dev.athanor.models.graph;

import dev.athanor.models.graph.Graph.Source;
import dev.athanor.models.graph.Graph.Step;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.DType;
import dev.athanor.ops.OpException;
import dev.athanor.ops.TensorType;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Joins steps: a bias becomes an input of the product to which it is added, relu the activation of
 * a product or a convolution, and chains of {@code map} become one. Only results that a single step
 * reads are joined, and only those of dtypes that are not rounded in between.
 */
final class Fusion {

  private static final String MAP = "map";
  private static final String EXPRESSION = "expression";
  private static final String CONSTANTS = "constants";
  private static final String OUT = "outDtype";
  private static final String SUM = "x0 + x1";
  private static final String RELU = "relu(x)";
  private static final String ACTIVATION = "activation";

  /** Ops with an activation. */
  private static final Set<String> ACTIVATED = Set.of("matmul", "convolution");

  /** Dtypes whose values are the same whether they are stored or not. */
  private static final Set<DType> EXACT = EnumSet.of(DType.F32, DType.F64, DType.BOOL);

  private static final Pattern NAME = Pattern.compile("\\b([xc])(\\d*)\\b");

  private final Catalogue catalogue;
  private final Map<String, TensorType> types;
  private final Map<String, Integer> readers = new HashMap<>();

  /** The steps so far, by the name of their first output. */
  private final Map<String, Step> steps = new LinkedHashMap<>();

  /**
   * Creates a fusion.
   *
   * @param types of inputs, weights and outputs of steps
   */
  Fusion(Catalogue catalogue, Map<String, TensorType> types) {
    this.catalogue = catalogue;
    this.types = types;
  }

  /**
   * Returns the joined steps.
   *
   * @param outputs names of steps' outputs that the graph returns
   */
  List<Step> of(List<Step> all, Set<String> outputs) {
    outputs.forEach(name -> readers.merge(name, 1, Integer::sum));
    for (var step : all) {
      step.inputs().values().forEach(source -> readers.merge(source.name(), 1, Integer::sum));
    }
    for (var step : all) {
      add(step.op().equals(MAP) ? chained(activated(biased(step))) : step);
    }
    return List.copyOf(steps.values());
  }

  private void add(Step step) {
    steps.put(step.outputs().values().iterator().next(), step);
  }

  /** Returns the step that computes an input, if no other reads it and it has the same shape. */
  private Optional<Step> only(Source source, TensorType out) {
    boolean joins =
        Objects.equals(readers.get(source.name()), 1)
            && type(source.name()).shape().equals(source.shape())
            && source.shape().equals(out.shape());
    return Optional.ofNullable(steps.get(source.name()))
        .filter(step -> joins && step.outputs().size() == 1);
  }

  private TensorType type(String name) {
    return Objects.requireNonNull(types.get(name), name);
  }

  private static String output(Step step) {
    return step.outputs().values().iterator().next();
  }

  /** Returns the product with a bias if the step adds one, else the step. */
  private Step biased(Step sum) {
    if (!sum.attributes().equals(Map.of(EXPRESSION, SUM))) {
      return sum;
    }
    var out = type(output(sum));
    for (int i = 0; i < 2; i++) {
      var product = only(input(sum, i), out).filter(step -> step.op().equals("matmul"));
      var bias = input(sum, 1 - i);
      boolean fits =
          product.isPresent()
              && !product.get().inputs().containsKey("bias")
              && !product.get().attributes().containsKey(ACTIVATION)
              && type(bias.name()).dtype() == out.dtype()
              && bias.shape().rank() == 1
              && bias.shape().extent(0) == out.shape().extent(-1);
      if (fits) {
        var inputs = new LinkedHashMap<>(product.get().inputs());
        inputs.put("bias", bias);
        var joined =
            new Step("matmul", inputs, product.get().attributes(), Map.of("c", output(sum)));
        if (computes(joined, out)) {
          steps.remove(output(product.get()));
          return joined;
        }
      }
    }
    return sum;
  }

  /**
   * Returns the product or convolution with an activation if the step applies it, else the step.
   */
  private Step activated(Step step) {
    if (!step.attributes().equals(Map.of(EXPRESSION, RELU))) {
      return step;
    }
    var out = type(output(step));
    var before =
        only(input(step, 0), out)
            .filter(each -> ACTIVATED.contains(each.op()))
            .filter(each -> !each.attributes().containsKey(ACTIVATION));
    if (before.isPresent()) {
      var attributes = new LinkedHashMap<>(before.get().attributes());
      attributes.put(ACTIVATION, "relu");
      var outputs = Map.of(before.get().outputs().keySet().iterator().next(), output(step));
      var joined = new Step(before.get().op(), before.get().inputs(), attributes, outputs);
      if (computes(joined, out)) {
        steps.remove(output(before.get()));
        return joined;
      }
    }
    return step;
  }

  private static Source input(Step step, int index) {
    return Objects.requireNonNull(step.inputs().get("x" + index));
  }

  /** Joins a {@code map} with those that compute its inputs. */
  private Step chained(Step step) {
    var joined = step;
    for (int i = 0; joined.op().equals(MAP) && i < joined.inputs().size(); i++) {
      var out = type(output(joined));
      var before = only(input(joined, i), out).filter(this::isExact);
      if (before.isPresent()) {
        var both = composed(joined, i, before.get());
        if (computes(both, out)) {
          steps.remove(output(before.get()));
          joined = both;
          i = -1; // its inputs are new
        }
      }
    }
    return joined;
  }

  private boolean isExact(Step step) {
    var dtype = type(output(step)).dtype();
    var asked = step.attributes().get(OUT);
    return step.op().equals(MAP) && EXACT.contains(dtype) && (asked == null || dtype != DType.BOOL);
  }

  /** Returns a step whose expression contains that of the step before in place of an input. */
  private Step composed(Step step, int index, Step before) {
    var sources = new ArrayList<Source>();
    var constants = new ArrayList<>(constants(step));
    int shift = constants.size();
    constants.addAll(constants(before));
    var inner = renamed(before, sources, shift, -1, "");
    var asked = before.attributes().get(OUT);
    inner = asked == null ? "(" + inner + ")" : asked + "(" + inner + ")";
    var expression = renamed(step, sources, 0, index, inner);
    var attributes = new LinkedHashMap<>(step.attributes());
    attributes.put(EXPRESSION, expression);
    if (!constants.isEmpty()) {
      attributes.put(CONSTANTS, constants);
    }
    var inputs = new LinkedHashMap<String, Source>();
    for (int i = 0; i < sources.size(); i++) {
      inputs.put("x" + i, sources.get(i));
    }
    return new Step(MAP, inputs, attributes, step.outputs());
  }

  /**
   * Returns the expression of a step with other names, and adds what it reads to the sources.
   *
   * @param shift of the indices of constants
   * @param index of an input that is replaced by {@code text}; negative for none
   */
  private static String renamed(
      Step step, List<Source> sources, int shift, int index, String text) {
    return NAME.matcher((String) Objects.requireNonNull(step.attributes().get(EXPRESSION)))
        .replaceAll(found -> {
          int number = found.group(2).isEmpty() ? 0 : Integer.parseInt(found.group(2));
          if (found.group(1).equals("c")) {
            return "c" + (number + shift);
          }
          if (number == index) {
            return text;
          }
          var source = input(step, number);
          if (!sources.contains(source)) {
            sources.add(source);
          }
          return "x" + sources.indexOf(source);
        });
  }

  private static List<Object> constants(Step step) {
    return step.attributes().get(CONSTANTS) instanceof List<?> given
        ? List.copyOf(given)
        : List.of();
  }

  /** Returns whether the op accepts a step and computes a tensor of the type. */
  private boolean computes(Step step, TensorType out) {
    var op = catalogue.find(step.op()).orElseThrow();
    var inputs = new LinkedHashMap<String, TensorType>();
    step.inputs()
        .forEach((name, source) ->
            inputs.put(name, new TensorType(type(source.name()).dtype(), source.shape())));
    try {
      Catalogue.checkInputs(op.description(), inputs);
      return op.outputs(inputs, Attributes.of(op.description(), step.attributes()))
          .containsValue(out);
    } catch (OpException e) {
      return false; // too many inputs, or too long an expression
    }
  }
}
