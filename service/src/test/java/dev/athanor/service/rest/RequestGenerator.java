package dev.athanor.service.rest;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.protobuf.ByteString;
import java.math.BigInteger;
import java.net.URLEncoder;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.json.JsonMapper;

/** Generates requests for an operation from an OpenAPI document: valid ones, or with one defect. */
final class RequestGenerator {

  /**
   * A request.
   *
   * @param path the path with its query
   * @param invalid whether the service must reject the request according to the document
   * @param about the defect; empty for a valid request
   */
  record Request(
      String method,
      String path,
      Map<String, String> headers,
      @Nullable ByteString body,
      boolean invalid,
      String about) {
    @Override
    public String toString() {
      return "%s %s %s%n%s%n(%s)"
          .formatted(method, path, headers, body == null ? "" : body.toStringUtf8(), about);
    }
  }

  private static final JsonMapper JSON = JsonMapper.builder().build();

  /** Values of other types and ranges; the schema validator throws for 1e300 as a double. */
  private static final List<Object> ODD =
      List.of(
          true,
          -1,
          1.5,
          BigInteger.TEN.pow(300),
          "",
          "x",
          List.of(),
          Map.of(),
          List.of(Map.of("a", List.of())));

  private static final List<String> ODD_TEXT =
      List.of("", " ", "x", "-1", "+1", "0", "1.5", "99999999999999999999", "\u0661", "a,b", "NaN");

  private static final List<String> MEDIA =
      List.of(
          "text/plain", "application/json;charset=utf-16", "///", "image/png", "application/xml");

  private final OpenApi document;
  private final Random random;
  private final List<String> handles;

  /**
   * Creates a generator.
   *
   * @param handles handles of existing and unknown tensors
   */
  RequestGenerator(OpenApi document, Random random, List<String> handles) {
    this.document = document;
    this.random = random;
    this.handles = handles;
  }

  private boolean chance(double share) {
    return random.nextDouble() < share;
  }

  private <T> T any(List<T> choices) {
    return choices.get(random.nextInt(choices.size()));
  }

  /** Returns a request for an operation such as {@code GET /ops/{op}}. */
  Request request(String name, Map<?, ?> operation, Map<?, ?> item) {
    var draft = new Draft(name, operation, item);
    if (chance(0.7)) {
      draft.breakOne();
    }
    return draft.finish();
  }

  private final class Draft {
    private String method;
    private final String template;
    private final Map<?, ?> operation;
    private final List<Map<?, ?>> parameters = new ArrayList<>();
    private final Map<String, String> path = new LinkedHashMap<>();
    private final List<Map.Entry<String, String>> query = new ArrayList<>();
    private final Map<String, String> headers = new LinkedHashMap<>();
    private @Nullable Object json;
    private @Nullable Map<?, ?> schema;
    private byte @Nullable [] body;
    private boolean invalid;
    private String about = "";

    Draft(String name, Map<?, ?> operation, Map<?, ?> item) {
      var words = name.split(" ", 2);
      method = words[0];
      template = words[1];
      this.operation = operation;
      for (var of : List.of(item, operation)) {
        if (of.get("parameters") instanceof List<?> list) {
          list.forEach(parameter -> parameters.add(document.resolve(parameter)));
        }
      }
      parameters.forEach(this::parameter);
      accept();
      content();
    }

    private void parameter(Map<?, ?> parameter) {
      var name = String.valueOf(parameter.get("name"));
      var of = document.resolve(parameter.get("schema"));
      if ("path".equals(parameter.get("in"))) {
        path.put(name, name.equals("handle") && chance(0.8) ? any(handles) : text(of));
      } else if (Boolean.TRUE.equals(parameter.get("required")) || chance(0.3)) {
        if ("header".equals(parameter.get("in"))) {
          headers.put(name, text(of));
        } else if (!"object".equals(of.get("type"))) {
          query.add(Map.entry(name, text(of)));
        }
      }
    }

    private String text(Map<?, ?> of) {
      return String.valueOf(value(of, 0)).replaceAll("[\\r\\n\\x00-\\x1f\\x7f-\\uffff]", "u");
    }

    /** Sets Accept to a documented media type, in half of the requests. */
    private void accept() {
      var forms = new TreeSet<String>();
      OpenApi.map(operation.get("responses"))
          .values()
          .forEach(response -> {
            if (document.resolve(response).get("content") instanceof Map<?, ?> content) {
              content.keySet().forEach(form -> forms.add(String.valueOf(form)));
            }
          });
      forms.add("*/*");
      if (chance(0.5)) {
        headers.put("Accept", any(List.copyOf(forms)));
      }
    }

    private void content() {
      if (operation.get("requestBody") == null) {
        return;
      }
      var content = OpenApi.map(document.resolve(operation.get("requestBody")).get("content"));
      var form = any(content.keySet().stream().map(String::valueOf).toList());
      if (content.containsKey("application/json") && chance(0.7)) {
        form = "application/json";
      }
      headers.put("Content-Type", form);
      if (form.equals("application/json")) {
        schema = OpenApi.map(OpenApi.map(content.get(form)).get("schema"));
        json = value(schema, 0);
      } else {
        body = new byte[random.nextInt(40)];
        random.nextBytes(body);
      }
    }

    /** Introduces one defect. */
    void breakOne() {
      switch (random.nextInt(8)) {
        case 0, 1, 2 -> breakJson();
        case 3 -> {
          headers.put("Content-Type", any(MEDIA));
          about = "Content-Type";
        }
        case 4 -> {
          headers.put("Accept", any(MEDIA));
          about = "Accept";
        }
        case 5 -> {
          query.add(Map.entry(chance(0.5) ? "unknown" : "limit", any(ODD_TEXT)));
          about = "query";
        }
        case 6 -> breakParameter();
        default -> {
          method = any(List.of("GET", "POST", "PUT", "PATCH", "DELETE"));
          about = "method";
        }
      }
    }

    private void breakJson() {
      if (json == null) {
        return;
      }
      about = "body";
      if (chance(0.2)) {
        var text = JSON.writeValueAsBytes(json);
        body = java.util.Arrays.copyOf(text, random.nextInt(text.length));
        json = null;
        return;
      }
      json = broken(json);
      invalid = !document.violations(schema, json, "body").isEmpty();
    }

    private @Nullable Object broken(@Nullable Object value) {
      if (value instanceof Map<?, ?> object && !object.isEmpty() && chance(0.8)) {
        var copy = new LinkedHashMap<Object, @Nullable Object>(object);
        var key = any(List.copyOf(copy.keySet()));
        switch (random.nextInt(4)) {
          case 0 -> copy.remove(key);
          case 1 -> copy.put("unknown" + random.nextInt(10), any(ODD));
          default -> copy.put(key, broken(copy.get(key)));
        }
        return copy;
      }
      if (value instanceof List<?> list && !list.isEmpty() && chance(0.7)) {
        var copy = new ArrayList<@Nullable Object>(list);
        int at = random.nextInt(copy.size());
        copy.set(at, broken(copy.get(at)));
        return copy;
      }
      if (value instanceof String text && chance(0.5)) {
        return chance(0.5) ? text.repeat(40) : text + "\ud83d\ude00\u202e";
      }
      return chance(0.1) ? null : any(ODD);
    }

    private void breakParameter() {
      if (parameters.isEmpty()) {
        return;
      }
      var parameter = any(parameters);
      var name = String.valueOf(parameter.get("name"));
      var of = document.resolve(parameter.get("schema"));
      var bad = chance(0.3) ? "a".repeat(random.nextInt(3) + maxLength(of)) : any(ODD_TEXT);
      about = "parameter " + name;
      switch (String.valueOf(parameter.get("in"))) {
        case "path" -> path.put(name, bad.isBlank() ? "x" : bad);
        case "header" -> headers.put(name, bad.chars().allMatch(c -> c < 0x7f) ? bad : "x");
        default -> {
          query.removeIf(entry -> entry.getKey().equals(name));
          query.add(Map.entry(name, bad));
          invalid =
              "string".equals(of.get("type"))
                  && !document.violations(of, bad, "parameter").isEmpty();
        }
      }
    }

    private static int maxLength(Map<?, ?> of) {
      return of.get("maxLength") instanceof Integer max ? max - 1 : 300;
    }

    Request finish() {
      var target = new StringBuilder(template);
      path.forEach((name, value) -> {
        int at = target.indexOf("{" + name + "}");
        target.replace(at, at + name.length() + 2, encode(value));
      });
      for (int i = 0; i < query.size(); i++) {
        var entry = query.get(i);
        target.append(i == 0 ? '?' : '&').append(encode(entry.getKey()));
        target.append('=').append(encode(entry.getValue()));
      }
      if (json != null) {
        body = JSON.writeValueAsBytes(json);
      } else if (about.equals("body") && body == null) {
        body = "null".getBytes(UTF_8);
      }
      return new Request(
          method,
          target.toString(),
          headers,
          body == null ? null : ByteString.copyFrom(body),
          invalid,
          about);
    }

    private static String encode(String text) {
      return URLEncoder.encode(text, UTF_8).replace("+", "%20");
    }
  }

  // -- values of schemas

  /** Returns a value that a schema allows. */
  private Object value(@Nullable Object node, int depth) {
    var schema = document.resolve(Objects.requireNonNull(node));
    if (schema.get("oneOf") instanceof List<?> choices) {
      return value(any(choices), depth);
    }
    if (schema.get("enum") instanceof List<?> values) {
      return any(values);
    }
    var type = schema.get("type") instanceof List<?> types ? any(types) : schema.get("type");
    return switch (String.valueOf(type)) {
      case "boolean" -> chance(0.5);
      case "integer" -> integer(schema);
      case "number" -> chance(0.5) ? integer(schema) : random.nextInt(100) / 8.0;
      case "array" -> array(schema, depth);
      case "object" -> object(schema, depth);
      case "string" -> string(schema);
      default -> 0;
    };
  }

  private Object integer(Map<?, ?> schema) {
    long min = schema.get("minimum") instanceof Number n ? n.longValue() : -2;
    long max = schema.get("maximum") instanceof Number n ? n.longValue() : min + 5;
    return switch (random.nextInt(4)) {
      case 0 -> min;
      case 1 -> max;
      default -> Math.min(max, min + random.nextInt(4));
    };
  }

  private List<Object> array(Map<?, ?> schema, int depth) {
    var list = new ArrayList<>();
    int min = schema.get("minItems") instanceof Integer n ? n : 0;
    for (int n = min + random.nextInt(4); n > 0 && depth < 12; n--) {
      list.add(schema.get("items") == null ? 1 : value(schema.get("items"), depth + 1));
    }
    return list;
  }

  private Map<String, Object> object(Map<?, ?> schema, int depth) {
    var object = new LinkedHashMap<String, Object>();
    var required = schema.get("required") instanceof List<?> list ? list : List.of();
    if (schema.get("properties") instanceof Map<?, ?> properties) {
      properties.forEach((key, of) -> {
        if (required.contains(key) || chance(0.5)) {
          object.put(
              String.valueOf(key),
              key.equals("handle") || key.equals("into") ? any(handles) : value(of, depth + 1));
        }
      });
    }
    if (schema.get("additionalProperties") instanceof Map<?, ?> of && !of.isEmpty()) {
      for (int n = random.nextInt(3); n > 0; n--) {
        object.put(any(List.of("a", "b", "x", "y", "n\u00e4me")), value(of, depth + 1));
      }
    }
    return object;
  }

  private String string(Map<?, ?> schema) {
    if (schema.get("pattern") instanceof String pattern && pattern.startsWith("^t_")) {
      return any(handles);
    }
    int min = schema.get("minLength") instanceof Integer n ? n : 0;
    int max = schema.get("maxLength") instanceof Integer n ? n : min + 20;
    return switch (random.nextInt(6)) {
      case 0 -> "s".repeat(max);
      case 1 -> any(handles);
      case 2 -> any(List.of("x", "a", "f32", "identity", "add", "1"));
      default -> "s".repeat(Math.max(min, 1));
    };
  }
}
