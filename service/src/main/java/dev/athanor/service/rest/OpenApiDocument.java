package dev.athanor.service.rest;

import dev.athanor.ops.DType;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Series;
import dev.athanor.service.codec.AttributeValues;
import dev.athanor.service.rest.tensors.Media;
import dev.athanor.service.security.Rule;
import dev.athanor.service.security.Rules;
import dev.athanor.service.security.Rules.Match;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.springframework.core.io.ClassPathResource;
import org.yaml.snakeyaml.DumperOptions;
import org.yaml.snakeyaml.Yaml;

/**
 * The OpenAPI document of the service: {@code openapi.yaml}, limited to the active security schemes
 * and extended by one path per op, generated from its description.
 */
final class OpenApiDocument {

  private static final String ANY_OP = "/ops/{op}";

  private OpenApiDocument() {}

  /**
   * Returns the document as YAML.
   *
   * @param rules the access rules
   * @param schemes the names of the active security schemes, any of which suffices; empty if
   *     requests are not authenticated
   */
  static String of(Collection<OpDescription> ops, Rules rules, List<String> schemes) {
    var document = read();
    var paths = new LinkedHashMap<String, Object>();
    map(document.get("paths"))
        .forEach((path, item) -> {
          paths.put(path, item);
          if (path.equals(ANY_OP)) {
            ops.forEach(op -> paths.put("/ops/" + op.name(), path(op, map(item))));
          }
        });
    paths.forEach((path, item) ->
        map(item).forEach((method, operation) -> secure(method, path, operation, rules, schemes)));
    document.put("paths", paths);
    if (schemes.isEmpty()) {
      document.remove("security");
      map(document.get("components")).remove("securitySchemes");
    } else {
      document.put("security", anyOf(schemes, List.of()));
      map(map(document.get("components")).get("securitySchemes")).keySet().retainAll(schemes);
    }
    var options = new DumperOptions();
    options.setDefaultFlowStyle(DumperOptions.FlowStyle.BLOCK);
    options.setWidth(120);
    options.setDereferenceAliases(true);
    return new Yaml(options).dump(document);
  }

  /** Sets the security requirement of an operation: none, any caller, or a scope. */
  private static void secure(
      String method, String path, Object operation, Rules rules, List<String> schemes) {
    if (method.equals("parameters")
        || !(rules.route(method.toUpperCase(Locale.ROOT), path)
            instanceof Match.Ruled(Rule rule))) {
      return;
    }
    if (schemes.isEmpty()) {
      map(operation).remove("security");
    } else if (rule.open()) {
      map(operation).put("security", List.of());
    } else if (rule.scope() != null) {
      map(operation).put("security", anyOf(schemes, List.of(rule.scope().text())));
    }
  }

  private static List<Map<String, Object>> anyOf(List<String> schemes, List<String> scopes) {
    return schemes.stream().map(scheme -> Map.<String, Object>of(scheme, scopes)).toList();
  }

  private static Map<String, Object> read() {
    try (var in = new ClassPathResource("openapi.yaml").getInputStream()) {
      return map(new Yaml().load(in));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Map<String, Object> path(OpDescription op, Map<String, Object> any) {
    var item = new LinkedHashMap<String, Object>();
    item.put("get", operation(map(any.get("get")), "describe", op, Map.of()));
    var content = new LinkedHashMap<String, Object>();
    content.put("application/json", media(op));
    content.put(Media.SAFETENSORS.text(), Map.of());
    var changes =
        Map.of(
            "requestBody",
            Map.of("required", true, "content", content),
            "parameters",
            parameters(op));
    item.put("post", operation(map(any.get("post")), "run", op, changes));
    return item;
  }

  /** Returns the query parameters of a safetensors request. */
  private static List<Object> parameters(OpDescription op) {
    var parameters = new ArrayList<Object>();
    parameters.add(Map.of("$ref", "#/components/parameters/Deadline"));
    op.attributes().forEach(each -> parameters.add(parameter(each.name(), schema(each))));
    for (var input : op.inputs()) {
      if (input.isListed()) {
        parameters.add(
            parameter(input.name(), input.series(), "The handle of " + input.label() + "."));
      }
    }
    for (var output : op.outputs()) {
      if (output.isListed()) {
        var values = "inline, handle, or the handle of a tensor to overwrite.";
        parameters.add(parameter(output.name(), output.series(), values));
      }
    }
    return parameters;
  }

  /** Returns the parameter of a tensor, or of all tensors of a list. */
  private static Map<String, Object> parameter(
      String name, Optional<Series> series, String description) {
    var text = Map.of("type", "string");
    if (series.isEmpty()) {
      return parameter(name, described(description, text));
    }
    var schema = object(Map.of(name, text), Map.of(furtherNames(series.get()), text));
    var parameter = parameter(series.get().name(), described(description, schema));
    parameter.put("style", "form");
    parameter.put("explode", true); // each member is a query parameter
    return parameter;
  }

  private static Map<String, Object> parameter(String name, Map<String, Object> schema) {
    var parameter = new LinkedHashMap<String, Object>();
    parameter.put("name", name);
    parameter.put("in", "query");
    parameter.put(
        "description",
        "Only for %s. %s".formatted(Media.SAFETENSORS.text(), schema.get("description")));
    schema.remove("description");
    parameter.put("schema", schema);
    if ("array".equals(schema.get("type"))) {
      parameter.put("style", "form");
      parameter.put("explode", false); // 0,2
    }
    return parameter;
  }

  private static Map<String, Object> operation(
      Map<String, Object> any, String verb, OpDescription op, Map<String, Object> changes) {
    var operation = new LinkedHashMap<>(any);
    operation.put("operationId", verb + "-" + op.name());
    operation.put("summary", op.summary());
    operation.put("description", op.formula());
    operation.putAll(changes);
    return operation;
  }

  private static Map<String, Object> media(OpDescription op) {
    var inputs = new LinkedHashMap<String, Object>();
    var furtherInputs = new LinkedHashMap<String, Object>();
    var required = new ArrayList<String>();
    var tensor = Map.of("oneOf", List.of(ref("InlineTensor"), ref("TensorHandle")));
    for (var input : op.inputs()) {
      if (input.isListed()) {
        var dtypes = input.dtypes().stream().sorted().map(DType::text).toList();
        var description =
            "%s, %s: %s".formatted(input.shape(), String.join(" or ", dtypes), input.meaning());
        inputs.put(input.name(), described(description, tensor));
        input.series().ifPresent(list -> furtherInputs.put(furtherNames(list), tensor));
      }
      if (!input.optional()) {
        required.add(input.name());
      }
    }
    var attributes = new LinkedHashMap<String, Object>();
    op.attributes().forEach(attribute -> attributes.put(attribute.name(), schema(attribute)));
    var outputs = new LinkedHashMap<String, Object>();
    var furtherOutputs = new LinkedHashMap<String, Object>();
    var target = Map.of("allOf", List.of(ref("OutputRequest")));
    for (var output : op.outputs()) {
      if (output.isListed()) {
        var description = "%s, %s: %s".formatted(output.shape(), output.dtype(), output.meaning());
        outputs.put(output.name(), described(description, target));
        output.series().ifPresent(list -> furtherOutputs.put(furtherNames(list), target));
      }
    }
    var tensors = object(inputs, furtherInputs);
    tensors.put("required", required);
    var body = new LinkedHashMap<String, Object>();
    body.put("inputs", tensors);
    body.put("attributes", object(attributes));
    body.put("outputs", object(outputs, furtherOutputs));
    var schema = object(body);
    schema.put("required", List.of("inputs"));
    return Map.of("schema", schema);
  }

  /** Returns a regular expression for the names in a list after the first. */
  private static String furtherNames(Series list) {
    var numbers = IntStream.range(1, list.count()).mapToObj(Integer::toString);
    return "^%s(%s)$".formatted(list.name(), numbers.collect(Collectors.joining("|")));
  }

  private static Map<String, Object> schema(OpDescription.Attribute attribute) {
    var schema = new LinkedHashMap<String, Object>();
    var text = attribute.defaultValue();
    switch (attribute.type()) {
      case BOOLEAN -> {
        schema.put("type", "boolean");
        schema.put("default", Boolean.parseBoolean(text));
      }
      case CHOICE -> {
        schema.put("type", "string");
        schema.put("enum", attribute.choices());
        if (!text.isEmpty()) {
          schema.put("default", text);
        }
      }
      case INTEGER, NUMBER -> {
        boolean whole = attribute.type() == OpDescription.AttributeType.INTEGER;
        schema.put("type", whole ? "integer" : "number");
        if (!text.isEmpty()) {
          schema.put("default", number(Double.parseDouble(text), whole));
        }
        schema.putAll(bounds(attribute, whole));
      }
      case INTEGERS, NUMBERS -> {
        boolean whole = attribute.type() == OpDescription.AttributeType.INTEGERS;
        var items = new LinkedHashMap<String, Object>();
        items.put("type", whole ? "integer" : "number");
        items.putAll(bounds(attribute, whole));
        schema.put("type", "array");
        schema.put("items", items);
        schema.put("maxItems", AttributeValues.MAX_ELEMENTS);
      }
      case TEXT -> {
        schema.put("type", "string");
        schema.put("maxLength", AttributeValues.MAX_CHARACTERS);
      }
    }
    return described(attribute.meaning(), schema);
  }

  private static Map<String, Object> bounds(OpDescription.Attribute attribute, boolean whole) {
    var bounds = new LinkedHashMap<String, Object>();
    if (Double.isFinite(attribute.least())) {
      bounds.put("minimum", number(attribute.least(), whole));
    }
    if (Double.isFinite(attribute.greatest())) {
      bounds.put("maximum", number(attribute.greatest(), whole));
    }
    return bounds;
  }

  private static Object number(double value, boolean whole) {
    if (whole) {
      return (long) value;
    }
    return value;
  }

  private static Map<String, Object> described(String description, Map<String, ?> schema) {
    var all = new LinkedHashMap<String, Object>();
    all.put("description", description);
    all.putAll(schema);
    return all;
  }

  /**
   * Returns the schema of an object.
   *
   * @param patterns further properties by regular expressions of their names
   */
  private static Map<String, Object> object(Map<String, ?> properties, Map<String, ?> patterns) {
    var schema = object(properties);
    if (!patterns.isEmpty()) {
      schema.put("patternProperties", patterns);
    }
    return schema;
  }

  private static Map<String, Object> object(Map<String, ?> properties) {
    var schema = new LinkedHashMap<String, Object>();
    schema.put("type", "object");
    schema.put("additionalProperties", false);
    schema.put("properties", properties);
    return schema;
  }

  private static Map<String, Object> ref(String schema) {
    return Map.of("$ref", "#/components/schemas/" + schema);
  }

  @SuppressWarnings("unchecked") // the document is ours, and its keys are strings
  private static Map<String, Object> map(@Nullable Object node) {
    return (Map<String, Object>) Objects.requireNonNull(node);
  }
}
