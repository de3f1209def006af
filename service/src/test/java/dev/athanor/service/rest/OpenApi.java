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
    if (value instanceof Map<?, ?> object) {
      members(schema, object, at, wrong);
    }
    if (value instanceof List<?> list && schema.get("items") != null) {
      for (int i = 0; i < list.size(); i++) {
        wrong.addAll(violations(schema.get("items"), list.get(i), at + "[" + i + "]"));
      }
    }
    return wrong;
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
