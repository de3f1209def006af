package dev.athanor.client.generator;

import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import tools.jackson.databind.JsonNode;

/** The names and the Javadoc of the operations, from their descriptions. */
final class Descriptions {

  private Descriptions() {}

  static String tensorText(JsonNode tensor, String dtypes) {
    var text =
        "%s. Shape %s, dtype %s"
            .formatted(tensor.path("meaning").asString(), tensor.path("shape").asString(), dtypes);
    var most = isList(tensor) ? "; at most " + tensor.path("list").path("count") + " tensors" : "";
    return html(text + most);
  }

  static String dtypes(JsonNode input) {
    return list(input, "dtypes").stream().map(JsonNode::asString).collect(Collectors.joining(", "));
  }

  static String attributeText(JsonNode attribute) {
    var text = new StringBuilder(attribute.path("meaning").asString());
    if (attribute.hasNonNull("default")) {
      text.append(". Default: ").append(attribute.path("default").asString());
    }
    if (attribute.has("minimum") || attribute.has("maximum")) {
      text.append(". Bounds: ")
          .append(attribute.path("minimum").asString("-∞"))
          .append(" to ")
          .append(attribute.path("maximum").asString("∞"));
    }
    if (attribute.has("choices")) {
      text.append(". One of ")
          .append(
              list(attribute, "choices").stream()
                  .map(JsonNode::asString)
                  .collect(Collectors.joining(", ")));
    }
    return html(text.toString());
  }

  static String returnText(JsonNode op) {
    var outputs = list(op, "outputs");
    return outputs.size() > 1
        ? "the outputs " + outputs.stream().map(o -> name(o)).collect(Collectors.joining(", "))
        : tensorText(outputs.getFirst(), outputs.getFirst().path("dtype").asString());
  }

  static List<JsonNode> list(JsonNode node, String member) {
    return StreamSupport.stream(node.path(member).spliterator(), false).toList();
  }

  /** Returns whether an input or output stands for a list. */
  static boolean isList(JsonNode tensor) {
    return tensor.has("list");
  }

  /** Returns the name of an op, attribute or tensor; for a list of tensors, that of the list. */
  static String name(JsonNode node) {
    return isList(node) ? node.path("list").path("name").asString() : node.path("name").asString();
  }

  /** Returns the parameter for the number of outputs of a list. */
  static String count(JsonNode output) {
    return name(output) + "Count";
  }

  static String countText(JsonNode output) {
    return "number of outputs; 1 to " + output.path("list").path("count").asString();
  }

  static String type(JsonNode op, String suffix) {
    return Stream.of(name(op).split("-")).map(Descriptions::capital).collect(Collectors.joining())
        + suffix;
  }

  static String camel(JsonNode op) {
    return lower(type(op, ""));
  }

  static String capital(String name) {
    return name.substring(0, 1).toUpperCase(Locale.ROOT) + name.substring(1);
  }

  static String lower(String name) {
    return name.substring(0, 1).toLowerCase(Locale.ROOT) + name.substring(1);
  }

  static String constant(String value) {
    return value.toUpperCase(Locale.ROOT).replace('-', '_');
  }

  static String html(String text) {
    return text.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace("@", "&#64;")
        .replace("*/", "*&#47;");
  }
}
