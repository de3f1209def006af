package dev.athanor.service.cli;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.DType;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpDescription;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
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

  @Spec
  @SuppressWarnings("NullAway.Init") // picocli sets it
  private CommandSpec spec;

  @Parameters(arity = "0..1", paramLabel = "OP", description = "the op to describe")
  private @Nullable String name;

  @Option(names = "--json", description = "as JSON, as the service answers it")
  private boolean json;

  private record Ops(List<Description> ops) {}

  private record Description(
      String name,
      String summary,
      List<Input> inputs,
      List<Attribute> attributes,
      List<OpDescription.Output> outputs,
      String formula) {

    static Description of(OpDescription op) {
      return new Description(
          op.name(),
          op.summary(),
          op.inputs().stream()
              .map(i ->
                  new Input(i.name(), i.shape(), dtypes(i.dtypes()), i.optional(), i.meaning()))
              .toList(),
          op.attributes().stream().map(Attribute::of).toList(),
          op.outputs(),
          op.formula());
    }
  }

  /** An attribute whose default has its own type; null where it has none. */
  private record Attribute(
      String name,
      String type,
      @JsonProperty("default") @Nullable Object defaultValue,
      @JsonInclude(JsonInclude.Include.NON_EMPTY) List<String> choices,
      String meaning) {

    static Attribute of(OpDescription.Attribute attribute) {
      var text = attribute.defaultValue();
      return new Attribute(
          attribute.name(),
          attribute.type().name().toLowerCase(Locale.ROOT),
          text.isEmpty() ? null : typed(attribute.type(), text),
          attribute.choices(),
          attribute.meaning());
    }

    private static Object typed(OpDescription.AttributeType type, String text) {
      return switch (type) {
        case BOOLEAN -> Boolean.valueOf(text);
        case INTEGER -> (long) Double.parseDouble(text);
        case NUMBER -> Double.valueOf(text);
        case CHOICE -> text;
      };
    }
  }

  private record Input(
      String name, String shape, List<String> dtypes, boolean optional, String meaning) {}

  @Override
  public Integer call() {
    var catalogue = Catalogue.load();
    var out = spec.commandLine().getOut();
    var all = catalogue.all().stream().map(Op::description).toList();
    if (name != null) {
      var op = find(catalogue, name).description();
      if (json) {
        out.println(ResultFile.json(Description.of(op)));
      } else {
        describe(out, op);
      }
    } else if (json) {
      out.println(ResultFile.json(new Ops(all.stream().map(Description::of).toList())));
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
        .orElseThrow(() -> new ParameterException(spec.commandLine(), unknown(catalogue, wanted)));
  }

  /** The sentence for a name that no op has. */
  static String unknown(Catalogue catalogue, String wanted) {
    return "there is no op \"%s\"; ops are %s"
        .formatted(
            wanted,
            catalogue.all().stream()
                .map(op -> op.description().name())
                .collect(Collectors.joining(", ")));
  }

  private static List<String> dtypes(Set<DType> dtypes) {
    return dtypes.stream().sorted().map(DType::text).toList();
  }

  private static void describe(PrintWriter out, OpDescription op) {
    out.printf("%s: %s%n%n    %s%n", op.name(), op.summary(), op.formula());
    var inputs = new Table("input", "shape", "dtypes", "meaning");
    for (var input : op.inputs()) {
      inputs.add(
          input.name(),
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
                ? attribute.type().name().toLowerCase(Locale.ROOT)
                : String.join(" | ", attribute.choices()),
            attribute.defaultValue(),
            attribute.meaning());
      }
      print(out, attributes);
    }
    var outputs = new Table("output", "shape", "meaning");
    op.outputs().forEach(o -> outputs.add(o.name(), o.shape(), o.meaning()));
    print(out, outputs);
  }

  private static void print(PrintWriter out, Table table) {
    out.println();
    table.text().forEach(out::println);
  }
}
