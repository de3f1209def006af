package dev.athanor.models.fusion;

import dev.athanor.models.graph.Graph.Source;
import dev.athanor.models.graph.Graph.Step;
import dev.athanor.ops.DType;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Pattern;

/** Joins a {@code map} with those that compute its inputs and round nothing in between. */
final class MapRule implements Rule {

  private static final String MAP = "map";
  private static final String EXPRESSION = "expression";
  private static final String CONSTANTS = "constants";
  private static final String OUT = "outDtype";

  /** Dtypes whose values are the same whether they are stored or not. */
  private static final Set<DType> EXACT = EnumSet.of(DType.F32, DType.F64, DType.BOOL);

  private static final Pattern NAME = Pattern.compile("\\b([xc])(\\d*)\\b");

  @Override
  public boolean apply(Rewriter graph, Step last) {
    var joined = last;
    for (int i = 0; joined.op().equals(MAP) && i < joined.inputs().size(); i++) {
      var source = Rewriter.input(joined, "x" + i);
      var shape = graph.type(Rewriter.output(joined)).shape();
      var before =
          graph
              .only(source)
              .filter(step -> source.shape().equals(shape) && isExact(graph, step))
              .orElse(null);
      if (before != null) {
        var both = composed(joined, i, before);
        if (graph.replace(List.of(joined, before), List.of(both))) {
          joined = both;
          i = -1; // its inputs are new
        }
      }
    }
    return !joined.equals(last);
  }

  private static boolean isExact(Rewriter graph, Step step) {
    var dtype = graph.type(Rewriter.output(step)).dtype();
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
          var source = Rewriter.input(step, "x" + number);
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
}
