package dev.athanor.service.rest;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.springframework.core.io.ClassPathResource;
import org.yaml.snakeyaml.Yaml;

/** The document, and as much of JSON Schema as it uses. */
final class OpenApi {

  private final Map<?, ?> document;

  OpenApi() {
    try (var in = new ClassPathResource("openapi.yaml").getInputStream()) {
      document = new Yaml().load(in);
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  /** A document from its text. */
  OpenApi(String text) {
    document = new Yaml().load(text);
  }

  /** {@code GET /ops/{op}} for every operation. */
  Map<String, Map<?, ?>> operations() {
    var operations = new TreeMap<String, Map<?, ?>>();
    map(document.get("paths"))
        .forEach((path, item) ->
            map(item)
                .forEach((method, operation) -> {
                  if (!method.equals("parameters")) {
                    operations.put(
                        method.toString().toUpperCase(java.util.Locale.ROOT) + " " + path,
                        map(operation));
                  }
                }));
    return operations;
  }

  /** What the document has about the path of an operation such as {@code GET /ops/{op}}. */
  Map<?, ?> item(String operation) {
    return map(map(document.get("paths")).get(operation.substring(operation.indexOf(' ') + 1)));
  }

  /** The path template that a path matches. */
  Optional<String> template(String path) {
    return map(document.get("paths")).keySet().stream()
        .map(String::valueOf)
        .filter(t -> path.matches(t.replaceAll("\\{\\w+}", "[^/]+")))
        .findFirst();
  }

  /** Follows a reference. */
  Map<?, ?> resolve(@Nullable Object node) {
    var at = map(node);
    while (at.get("$ref") instanceof String reference) {
      Map<?, ?> target = document;
      for (var step : List.of(reference.substring(2).split("/", -1))) {
        target = map(target.get(step));
      }
      at = target;
    }
    return at;
  }

  static Map<?, ?> map(@Nullable Object node) {
    return (Map<?, ?>) Objects.requireNonNull(node);
  }

  /** What is wrong with a value by a schema; empty when nothing is. */
  List<String> violations(@Nullable Object schemaNode, @Nullable Object value, String at) {
    var schema = resolve(schemaNode);
    var wrong = new ArrayList<String>();
    if (schema.get("oneOf") instanceof List<?> choices) {
      long fitting = choices.stream().filter(c -> violations(c, value, at).isEmpty()).count();
      if (fitting != 1) {
        wrong.add("%s fits %d of oneOf: %s".formatted(at, fitting, value));
      }
    }
    var types =
        schema.get("type") instanceof List<?> list
            ? list
            : schema.get("type") == null ? List.of() : List.of(schema.get("type"));
    if (!types.isEmpty() && types.stream().noneMatch(type -> is(type.toString(), value))) {
      wrong.add("%s is no %s: %s".formatted(at, types, value));
    }
    if (schema.get("enum") instanceof List<?> values && !values.contains(value)) {
      wrong.add("%s is none of %s: %s".formatted(at, values, value));
    }
    if (schema.get("minimum") instanceof Number least
        && value instanceof Number number
        && number.doubleValue() < least.doubleValue()) {
      wrong.add("%s is below %s: %s".formatted(at, least, value));
    }
    if (schema.get("maximum") instanceof Number most
        && value instanceof Number number
        && number.doubleValue() > most.doubleValue()) {
      wrong.add("%s is above %s: %s".formatted(at, most, value));
    }
    if (value instanceof String text) {
      text(schema, text, at, wrong);
    }
    if (value instanceof Map<?, ?> object) {
      members(schema, object, at, wrong);
    }
    if (value instanceof List<?> list
        && (list.size() > number(schema, "maxItems", Integer.MAX_VALUE)
            || list.size() < number(schema, "minItems", 0))) {
      wrong.add("%s has %d items".formatted(at, list.size()));
    }
    if (value instanceof List<?> list && schema.get("items") != null) {
      for (int i = 0; i < list.size(); i++) {
        wrong.addAll(violations(schema.get("items"), list.get(i), at + "[" + i + "]"));
      }
    }
    return wrong;
  }

  private static int number(Map<?, ?> schema, String keyword, int otherwise) {
    return schema.get(keyword) instanceof Integer given ? given : otherwise;
  }

  private static void text(Map<?, ?> schema, String text, String at, List<String> wrong) {
    int length = text.codePointCount(0, text.length());
    if (length < number(schema, "minLength", 0)
        || length > number(schema, "maxLength", Integer.MAX_VALUE)) {
      wrong.add("%s has %d characters".formatted(at, length));
    }
    if (schema.get("pattern") instanceof String pattern
        && !java.util.regex.Pattern.compile(pattern).matcher(text).find()) {
      wrong.add("%s does not match %s: %s".formatted(at, pattern, text));
    }
  }

  private void members(Map<?, ?> schema, Map<?, ?> object, String at, List<String> wrong) {
    if (schema.get("required") instanceof List<?> required) {
      for (var key : required) {
        if (!object.containsKey(key)) {
          wrong.add(at + " lacks " + key);
        }
      }
    }
    var properties = schema.get("properties") == null ? Map.of() : map(schema.get("properties"));
    var others = schema.get("additionalProperties");
    object.forEach((key, member) -> {
      if (properties.containsKey(key)) {
        wrong.addAll(violations(properties.get(key), member, at + "." + key));
      } else if (Boolean.FALSE.equals(others)) {
        wrong.add(at + " has " + key + ", which is not described");
      } else if (others instanceof Map<?, ?>) {
        wrong.addAll(violations(others, member, at + "." + key));
      }
    });
  }

  private static boolean is(String type, @Nullable Object value) {
    return switch (type) {
      case "null" -> value == null;
      case "string" -> value instanceof String;
      case "boolean" -> value instanceof Boolean;
      case "number" -> value instanceof Number;
      case "integer" -> value instanceof Integer || value instanceof Long;
      case "array" -> value instanceof List<?>;
      case "object" -> value instanceof Map<?, ?>;
      default -> throw new IllegalArgumentException(type);
    };
  }
}
