package dev.athanor.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.yaml.snakeyaml.DumperOptions;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.comments.CommentType;
import org.yaml.snakeyaml.nodes.MappingNode;
import org.yaml.snakeyaml.nodes.Node;
import org.yaml.snakeyaml.nodes.NodeTuple;
import org.yaml.snakeyaml.nodes.ScalarNode;

/**
 * Checks that {@code values.yaml}, its schema and the table in the chart's README list the same
 * values. -Dbless updates the table.
 */
class ValuesChartTest {

  private static final Path README = Chart.FOLDER.resolve("README.md");
  private static final String MARKER =
      "<!-- Made from the comments of values.yaml by ValuesChartTest; -Dbless writes it. -->\n";

  private record Value(String key, String defaultValue, String description) {}

  private static Map<?, ?> schema() throws IOException {
    return (Map<?, ?>)
        Chart.yaml().load(Files.readString(Chart.FOLDER.resolve("values.schema.json")));
  }

  /**
   * Returns the values of a mapping; a nested mapping with commented keys contributes its own
   * values.
   */
  private static List<Value> values(MappingNode mapping, Map<?, ?> schema, String prefix) {
    List<Value> values = new ArrayList<>();
    for (NodeTuple entry : mapping.getValue()) {
      String name = ((ScalarNode) entry.getKeyNode()).getValue();
      String key = prefix + name;
      Map<?, ?> of = (Map<?, ?>) Chart.at(schema, "properties", name);
      boolean nested =
          entry.getValueNode() instanceof MappingNode below
              && !below.getValue().isEmpty()
              && below.getValue().stream().anyMatch(tuple -> !comment(tuple).isEmpty());
      if (nested) {
        values.addAll(values((MappingNode) entry.getValueNode(), properties(of), key + "."));
      } else {
        assertThat(comment(entry)).as("comment of %s", key).endsWith(".");
        values.add(new Value(key, text(entry.getValueNode()), comment(entry)));
      }
    }
    return values;
  }

  private static Map<?, ?> properties(Map<?, ?> schema) {
    try {
      return schema.get("$ref") instanceof String reference
          ? (Map<?, ?>) Chart.at(schema(), "definitions", reference.replace("#/definitions/", ""))
          : schema;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String comment(NodeTuple entry) {
    var comments = entry.getKeyNode().getBlockComments();
    if (comments == null) {
      return "";
    }
    // A blank line separates a section's comment from a value's comment.
    List<String> lines = new ArrayList<>();
    for (var line : comments) {
      if (line.getCommentType() == CommentType.BLANK_LINE) {
        lines.clear();
      } else {
        lines.add(line.getValue().strip());
      }
    }
    return String.join(" ", lines);
  }

  /** Formats a value as one line of YAML. */
  private static String text(Node node) {
    StringWriter block = new StringWriter();
    new Yaml().serialize(node, block);
    DumperOptions options = new DumperOptions();
    options.setDefaultFlowStyle(DumperOptions.FlowStyle.FLOW);
    options.setWidth(10_000);
    return new Yaml(options).dump(Chart.yaml().<Object>load(block.toString())).strip();
  }

  private static List<Value> values() throws IOException {
    LoaderOptions options = new LoaderOptions();
    options.setProcessComments(true);
    Node root =
        new Yaml(options).compose(Files.newBufferedReader(Chart.FOLDER.resolve("values.yaml")));
    return values((MappingNode) root, schema(), "");
  }

  @Test
  void readmeListsEveryValue() throws IOException {
    String table =
        values().stream()
            .map(value ->
                "| `%s` | `%s` | %s |"
                    .formatted(value.key(), value.defaultValue(), value.description())
                    .replace("||", "\\|\\|"))
            .collect(
                Collectors.joining(
                    "\n", "\n| value | default | meaning |\n| --- | --- | --- |\n", "\n"));
    String readme = Files.readString(README);
    String head = readme.substring(0, readme.indexOf(MARKER) + MARKER.length());
    if (System.getProperty("bless") != null) {
      Files.writeString(README, head + table);
    }
    assertThat(Files.readString(README).lines()).isEqualTo((head + table).lines().toList());
  }

  /** {@link #values} checks the converse below the top level. */
  @Test
  void schemaHasExactlyTheValuesOfTheChart() throws IOException {
    Map<?, ?> values =
        (Map<?, ?>) Chart.yaml().load(Files.readString(Chart.FOLDER.resolve("values.yaml")));
    var known =
        new TreeSet<>(
            ((Map<?, ?>) Chart.at(schema(), "properties"))
                .keySet().stream().map(String::valueOf).toList());
    // Reserved by Helm for values of parent charts.
    known.remove("global");
    assertThat(known)
        .isEqualTo(new TreeSet<>(values.keySet().stream().map(String::valueOf).toList()));
  }

  /** Only objects whose format Kubernetes or the service defines allow additional properties. */
  @Test
  void rejectsUnknownKeysEverywhere() throws IOException {
    List<String> open = new ArrayList<>();
    open(schema(), "", open);
    assertThat(open)
        .containsExactlyInAnyOrder(
            "/gpu/tolerations[]",
            "/resources/requests",
            "/resources/limits",
            "/config",
            "/extraEnv[]/valueFrom",
            "/extraVolumeMounts[]",
            "/networkPolicy/from[]",
            "/networkPolicy/monitoringFrom[]",
            "/podMonitor/authorization",
            "/podMonitor/tlsConfig",
            "/podSecurityContext",
            "/securityContext",
            "/tolerations[]",
            "/affinity",
            "/topologySpreadConstraints[]",
            "/global",
            "/definitions/named[]",
            "/definitions/sessionPersistence/cookieConfig",
            "/definitions/sessionPersistence/cookie",
            "/definitions/sessionPersistence/header");
  }

  private static void open(Map<?, ?> schema, String path, List<String> open) {
    boolean object =
        "object".equals(schema.get("type"))
            || (schema.get("type") instanceof List<?> types && types.contains("object"));
    if (object && schema.get("additionalProperties") == null) {
      open.add(path);
    }
    for (String group : List.of("properties", "definitions")) {
      if (schema.get(group) instanceof Map<?, ?> members) {
        String prefix = group.equals("definitions") ? path + "/definitions/" : path + "/";
        members.forEach((name, member) -> open((Map<?, ?>) member, prefix + name, open));
      }
    }
    if (schema.get("items") instanceof Map<?, ?> items) {
      open(items, path + "[]", open);
    }
  }
}
