package dev.athanor.ops;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.ops.OpDescription.Attribute;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Checks that {@code docs/ops.md} matches the descriptions of the ops; -Dbless rewrites it. */
class CatalogueDocumentTest {

  private static final Path DOCUMENT = Path.of("../docs/ops.md");

  /** The end of the formula of an op that is an expression of {@code map}. */
  private static final String EXPRESSION = ", as in map";

  @Test
  void matchesTheDescriptions() throws IOException {
    var lines = new ArrayList<String>();
    lines.add("# Operations");
    lines.add("");
    lines.add(
        "Generated from the op descriptions that `GET /ops`, `/openapi.yaml` and `athanor ops` return. Tensors are dense and");
    lines.add(
        "row-major. `…` stands for any number of leading dimensions; `…a` and `…b` broadcast as in NumPy. Names of inputs and");
    lines.add("outputs are those of REST requests.");
    var all = Catalogue.load().all().stream().map(Op::description).toList();
    for (var op : all) {
      if (!isExpression(op)) {
        describe(op, lines);
      }
    }
    lines.add("");
    lines.add("## Named expressions");
    lines.add("");
    lines.add("These ops compute an expression of `map`. Their inputs broadcast as in NumPy.");
    lines.add("");
    lines.add("| op | y | dtypes | dtype of y | attributes |");
    lines.add("| --- | --- | --- | --- | --- |");
    all.stream().filter(CatalogueDocumentTest::isExpression).forEach(op -> expression(op, lines));
    var text = String.join("\n", lines) + "\n";
    if (System.getProperty("bless") != null) {
      Files.writeString(DOCUMENT, text);
    }
    assertThat(text.lines()).isEqualTo(Files.readString(DOCUMENT).lines().toList());
  }

  /** Returns whether an op is an expression of {@code map}, which a row describes. */
  private static boolean isExpression(OpDescription op) {
    return op.formula().endsWith(EXPRESSION);
  }

  private static void expression(OpDescription op, List<String> lines) {
    row(
        lines,
        op.name(),
        op.formula().substring("y = ".length(), op.formula().length() - EXPRESSION.length()),
        op.inputs().stream()
            .map(CatalogueDocumentTest::dtypes)
            .distinct()
            .collect(Collectors.joining("; ")),
        op.outputs().getFirst().dtype(),
        op.attributes().stream()
            .map(attribute ->
                attribute.name()
                    + (attribute.required() ? "" : " (default " + attribute.defaultValue() + ")"))
            .collect(Collectors.joining(", ")));
  }

  private static String dtypes(OpDescription.Input input) {
    return String.join(" ", input.dtypes().stream().sorted().map(DType::text).toList());
  }

  private static void describe(OpDescription op, List<String> lines) {
    lines.add("");
    lines.add("## " + op.name());
    lines.add("");
    lines.add(op.summary());
    lines.add("");
    lines.add("    " + op.formula().replace("\n", "\n    "));
    lines.add("");
    lines.add("| input | shape | dtypes | meaning |");
    lines.add("| --- | --- | --- | --- |");
    for (var input : op.inputs()) {
      if (!input.isListed()) {
        continue;
      }
      row(
          lines,
          (input.series().isEmpty() ? String.join(" or ", input.names().toList()) : input.label())
              + (input.optional() ? " (optional)" : ""),
          input.shape(),
          dtypes(input),
          input.meaning());
    }
    if (!op.attributes().isEmpty()) {
      lines.add("");
      lines.add("| attribute | values | default | meaning |");
      lines.add("| --- | --- | --- | --- |");
      for (var attribute : op.attributes()) {
        row(
            lines,
            attribute.name(),
            values(attribute),
            attribute.defaultValue(),
            attribute.meaning());
      }
    }
    lines.add("");
    lines.add("| output | shape | dtype | meaning |");
    lines.add("| --- | --- | --- | --- |");
    for (var output : op.outputs()) {
      if (!output.isListed()) {
        continue;
      }
      row(
          lines,
          output.label() + (output.optional() ? " (optional)" : ""),
          output.shape(),
          output.dtype(),
          output.meaning());
    }
    lines.add("");
    lines.add("Floating-point operations: " + op.flops() + ".");
  }

  private static String values(Attribute attribute) {
    return attribute.choices().isEmpty()
        ? (attribute.type().name().toLowerCase(Locale.ROOT) + " " + attribute.bounds()).strip()
        : String.join(", ", attribute.choices());
  }

  private static void row(List<String> lines, String... cells) {
    for (int i = 0; i < cells.length; i++) {
      cells[i] = cells[i].replace("|", "\\|");
    }
    lines.add("| " + String.join(" | ", cells) + " |");
  }
}
