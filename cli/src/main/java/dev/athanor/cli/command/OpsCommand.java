package dev.athanor.cli.command;

import dev.athanor.cli.argument.OpArguments;
import dev.athanor.cli.argument.PluginsOption;
import dev.athanor.cli.report.Build;
import dev.athanor.cli.report.ResultFile;
import dev.athanor.cli.report.Table;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.DType;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpDescription;
import dev.athanor.service.codec.OpView;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.Callable;
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

/** {@code athanor ops [OP]}. */
@Command(
    name = "ops",
    description = "Lists the ops, or describes one.",
    mixinStandardHelpOptions = true,
    versionProvider = Build.Provider.class)
public final class OpsCommand implements Callable<Integer> {

  private final @Nullable Catalogue library;

  @Spec
  @SuppressWarnings("NullAway.Init") // picocli sets it
  private CommandSpec spec;

  @Parameters(arity = "0..1", paramLabel = "OP", description = "the op to describe")
  private @Nullable String name;

  @Option(names = "--json", description = "prints the service's JSON response")
  private boolean json;

  @Mixin
  @SuppressWarnings("NullAway.Init")
  private PluginsOption plugins;

  /** Describes the op library. */
  public OpsCommand() {
    this(null);
  }

  /** Describes these ops instead of the op library, if any. */
  OpsCommand(@Nullable Catalogue library) {
    this.library = library;
  }

  @Override
  public Integer call() {
    var catalogue = plugins.catalogue(library);
    var out = spec.commandLine().getOut();
    var all = catalogue.all().stream().map(Op::description).toList();
    if (name != null) {
      var op = find(catalogue, name).description();
      if (json) {
        out.println(ResultFile.json(OpView.of(op)));
      } else {
        describe(out, op);
      }
    } else if (json) {
      out.println(ResultFile.json(OpView.Ops.of(all)));
    } else {
      int width = all.stream().mapToInt(op -> op.name().length()).max().orElse(0);
      all.forEach(op -> out.printf("%-" + width + "s  %s%n", op.name(), op.summary()));
    }
    out.flush();
    return CommandLine.ExitCode.OK;
  }

  private Op find(Catalogue catalogue, String wanted) {
    return catalogue
        .find(wanted)
        .orElseThrow(() ->
            new ParameterException(spec.commandLine(), OpArguments.unknown(catalogue, wanted)));
  }

  private static List<String> dtypes(Set<DType> dtypes) {
    return dtypes.stream().sorted().map(DType::text).toList();
  }

  private static String names(OpDescription.Input input) {
    return String.join(
        " or ", Stream.concat(Stream.of(input.label()), input.aliases().stream()).toList());
  }

  private static void describe(PrintWriter out, OpDescription op) {
    out.printf("%s: %s%n%n    %s%n", op.name(), op.summary(), op.formula());
    out.printf("    floating-point operations: %s%n", op.flops());
    var inputs = new Table("input", "shape", "dtypes", "meaning");
    for (var input : op.inputs().stream().filter(OpDescription.Input::isListed).toList()) {
      inputs.add(
          names(input),
          input.shape(),
          String.join(", ", dtypes(input.dtypes())),
          input.optional() ? input.meaning() + " (optional)" : input.meaning());
    }
    print(out, inputs);
    if (!op.attributes().isEmpty()) {
      var attributes = new Table("attribute", "type", "default", "meaning");
      for (var attribute : op.attributes()) {
        attributes.add(
            attribute.name(),
            attribute.choices().isEmpty()
                ? (attribute.type().name().toLowerCase(Locale.ROOT) + " " + attribute.bounds())
                    .strip()
                : String.join(" | ", attribute.choices()),
            attribute.defaultValue(),
            attribute.meaning());
      }
      print(out, attributes);
    }
    var outputs = new Table("output", "shape", "dtype", "meaning");
    for (var output : op.outputs().stream().filter(OpDescription.Output::isListed).toList()) {
      outputs.add(
          output.label(),
          output.shape(),
          output.dtype(),
          output.optional() ? output.meaning() + " (optional)" : output.meaning());
    }
    print(out, outputs);
  }

  private static void print(PrintWriter out, Table table) {
    out.println();
    table.text().forEach(out::println);
  }
}
