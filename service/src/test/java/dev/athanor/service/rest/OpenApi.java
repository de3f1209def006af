package dev.athanor.service.rest;

import com.networknt.schema.Schema;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.dialect.Dialects;
import java.io.IOException;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.springframework.core.io.ClassPathResource;
import org.yaml.snakeyaml.Yaml;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The OpenAPI document, and validation against its schemas. */
final class OpenApi {

  private static final JsonMapper JSON = JsonMapper.shared();
  private static final SchemaRegistry REGISTRY =
      SchemaRegistry.withDialect(Dialects.getOpenApi31());

  private final Map<?, ?> document;
  private final IdentityHashMap<Map<?, ?>, Schema> schemas = new IdentityHashMap<>();

  OpenApi() {
    try (var in = new ClassPathResource("openapi.yaml").getInputStream()) {
      document = new Yaml().load(in);
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Parses a document. */
  OpenApi(String text) {
    document = new Yaml().load(text);
  }

  /** Returns the operations by name, such as {@code GET /ops/{op}}. */
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

  /** Returns the path item of an operation such as {@code GET /ops/{op}}. */
  Map<?, ?> item(String operation) {
    return map(map(document.get("paths")).get(operation.substring(operation.indexOf(' ') + 1)));
  }

  /** Returns the path template that matches a path. */
  Optional<String> template(String path) {
    return map(document.get("paths")).keySet().stream()
        .map(String::valueOf)
        .filter(t -> path.matches(t.replaceAll("\\{\\w+}", "[^/]+")))
        .findFirst();
  }

  Map<?, ?> root() {
    return document;
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

  /**
   * Returns the violations of a schema by a value.
   *
   * @param schemaNode a schema of this document, or one with references into it
   * @param at the prefix of the messages
   */
  List<String> violations(@Nullable Object schemaNode, @Nullable Object value, String at) {
    Schema schema;
    synchronized (schemas) {
      schema = schemas.computeIfAbsent(map(schemaNode), this::schema);
    }
    return schema.validate(JSON.<JsonNode>valueToTree(value)).stream()
        .map(error -> at + error)
        .toList();
  }

  /** Creates a validator for a schema together with the components that it references. */
  private Schema schema(Map<?, ?> node) {
    var root = JSON.createObjectNode();
    root.putArray("allOf").add(JSON.<JsonNode>valueToTree(node));
    if (document.get("components") instanceof Map<?, ?> components) {
      root.set("components", JSON.<JsonNode>valueToTree(components));
    }
    return REGISTRY.getSchema(root);
  }
}
