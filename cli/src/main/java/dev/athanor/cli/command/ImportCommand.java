package dev.athanor.cli.command;

import dev.athanor.cli.client.ServiceOption;
import dev.athanor.cli.report.Build;
import dev.athanor.models.ModelDefinition;
import dev.athanor.models.ModelException;
import dev.athanor.models.fusion.Fusion;
import dev.athanor.models.graph.Graph;
import dev.athanor.models.graph.GraphText;
import dev.athanor.models.onnx.OnnxModel;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code athanor import}. */
@Command(
    name = "import",
    description = {
      "Reads an ONNX model and prints its inputs, outputs and operators, or the nodes that are not supported.",
      "With --name, stores it in a running service; needs the scope tensors:write."
    },
    mixinStandardHelpOptions = true,
    versionProvider = Build.Provider.class)
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class ImportCommand implements Callable<Integer> {

  @Spec private CommandSpec spec;

  @Parameters(paramLabel = "FILE", description = "an ONNX file with its weights")
  private Path file;

  @Option(
      names = "--name",
      paramLabel = "NAME",
      description = "stores the model under this name, replacing a model of that name")
  private @Nullable String name;

  @Option(
      names = "--explain",
      description = "prints the ops before and after fusion, with the shapes of all tensors")
  private boolean explain;

  @Option(
      names = "--input",
      paramLabel = "INPUT=EXTENTS",
      description =
          "the shape of an input for --explain, such as x=2x5; by default, extents that have names are 1")
  private Map<String, String> shapes = new LinkedHashMap<>();

  @Mixin private ServiceOption service;

  @Override
  public Integer call() throws IOException {
    if (!Files.isReadable(file)) {
      throw usageError("cannot read file " + file);
    }
    if (!explain && !shapes.isEmpty()) {
      throw usageError("--input requires --explain");
    }
    var out = spec.commandLine().getOut();
    try {
      var bytes = Files.readAllBytes(file);
      var model = OnnxModel.read(bytes);
      if (explain) {
        explain(model, out);
      } else if (name == null) {
        describe(model, out);
      }
      if (name != null) {
        store(name, bytes, out);
      }
    } catch (ModelException.Unsupported e) {
      String.valueOf(e.getMessage()).lines().forEach(out::println);
      out.flush();
      return CommandLine.ExitCode.SOFTWARE;
    } catch (ModelException e) {
      throw usageError("%s: %s".formatted(file, e.getMessage()));
    }
    out.flush();
    return CommandLine.ExitCode.OK;
  }

  private static void describe(OnnxModel model, PrintWriter out) {
    model.inputs().forEach(input -> out.println("input  " + input));
    model.outputs().forEach(output -> out.println("output " + output));
    model.operators().forEach((operator, count) -> out.printf("%6d %s%n", count, operator));
  }

  private void explain(ModelDefinition model, PrintWriter out) {
    var graph = model.graph(types(model));
    print("Before fusion", graph, out);
    out.println();
    print("After fusion", Fusion.of(graph), out);
  }

  private static void print(String title, Graph graph, PrintWriter out) {
    out.println(title);
    out.print(GraphText.of(graph));
  }

  private void store(String stored, byte[] bytes, PrintWriter out) {
    try (var athanor = service.connect()) {
      var info = athanor.storeModel(stored, bytes);
      out.printf("%s@%d%n", info.name(), info.version());
    } catch (IllegalArgumentException e) {
      throw usageError("--name: " + e.getMessage());
    }
  }

  /** Returns the types of the inputs with the given extents, and with 1 for other names. */
  private Map<String, TensorType> types(ModelDefinition model) {
    var given = new HashMap<String, List<Long>>();
    shapes.forEach((input, text) -> given.put(input, extents(input, text)));
    var known = new HashMap<String, Long>();
    for (var input : model.inputs()) {
      var extents = given.getOrDefault(input.name(), List.of());
      for (int i = 0; i < Math.min(extents.size(), input.extents().size()); i++) {
        known.putIfAbsent(input.extents().get(i), extents.get(i));
      }
    }
    var types = new LinkedHashMap<String, TensorType>();
    for (var input : model.inputs()) {
      var extents = given.remove(input.name());
      if (extents == null) {
        extents = new ArrayList<>();
        for (var extent : input.extents()) {
          extents.add(
              extent.matches("\\d{1,18}")
                  ? Long.parseLong(extent)
                  : known.getOrDefault(extent, 1L));
        }
      }
      types.put(input.name(), new TensorType(input.dtype(), new Shape(extents)));
    }
    if (!given.isEmpty()) {
      throw usageError(
          "--input %s: the inputs of the model are %s"
              .formatted(
                  given.keySet().iterator().next(),
                  model.inputs().stream()
                      .map(ModelDefinition.Input::toString)
                      .collect(Collectors.joining(", "))));
    }
    return types;
  }

  private List<Long> extents(String input, String text) {
    if (!text.matches("(\\d{1,9}(x\\d{1,9})*)?")) {
      throw usageError(
          "--input %s=%s: expected extents such as 2x5, or none for a scalar"
              .formatted(input, text));
    }
    return text.isEmpty() ? List.of() : Stream.of(text.split("x", -1)).map(Long::valueOf).toList();
  }

  private ParameterException usageError(String sentence) {
    return new ParameterException(spec.commandLine(), sentence);
  }
}
