package dev.athanor.models.graph;

import dev.athanor.models.graph.Graph.Source;
import dev.athanor.models.graph.Graph.Step;
import dev.athanor.ops.TensorType;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;

/** A graph as text for people: a line for each input, weight, step and output. */
public final class GraphText {

  private final Graph graph;
  private final Map<String, TensorType> types;

  private GraphText(Graph graph) {
    this.graph = graph;
    this.types = graph.types();
  }

  /** Returns the lines, of which the last states the number of steps, weights and their bytes. */
  public static String of(Graph graph) {
    return new GraphText(graph).lines();
  }

  private String lines() {
    var text = new StringBuilder();
    graph.inputs().forEach((name, type) -> text.append("input  %s %s%n".formatted(name, type)));
    graph.steps().forEach(step -> text.append(line(step)).append(System.lineSeparator()));
    graph
        .outputs()
        .forEach((name, output) ->
            text.append("output %s %s = %s%n".formatted(name, output.type(), output.step())));
    long bytes = graph.weights().values().stream().mapToLong(each -> each.type().bytes()).sum();
    return text.append(
            "%,d steps, %,d weights of %,d bytes%n"
                .formatted(graph.steps().size(), graph.weights().size(), bytes))
        .toString();
  }

  private String line(Step step) {
    var outputs =
        step.outputs().values().stream()
            .map(name -> "%s %s".formatted(name, type(name)))
            .collect(Collectors.joining(", "));
    var inputs =
        step.inputs().entrySet().stream()
            .map(input -> "%s=%s".formatted(input.getKey(), text(input.getValue())))
            .collect(Collectors.joining(", "));
    var attributes =
        step.attributes().entrySet().stream()
            .sorted(Map.Entry.comparingByKey())
            .map(each -> " %s=%s".formatted(each.getKey(), each.getValue()))
            .collect(Collectors.joining());
    return "%s = %s(%s)%s".formatted(outputs, step.op(), inputs, attributes);
  }

  private String text(Source source) {
    return source.name() + source.shape();
  }

  private TensorType type(String name) {
    return Objects.requireNonNull(types.get(name), name);
  }
}
