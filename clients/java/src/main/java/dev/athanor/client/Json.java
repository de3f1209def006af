package dev.athanor.client;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonGenerator;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** JSON of requests and responses. */
final class Json {

  private static final JsonMapper MAPPER = new JsonMapper();
  private static final String PROBLEM = "urn:athanor:problem:";

  private Json() {}

  static ByteBuffer op(OpCall call, Map<String, Transport.Target> targets) {
    return object(out -> {
      inputs(out, call.inputs());
      attributes(out, call.attributes());
      targets(out, targets);
    });
  }

  static ByteBuffer pipeline(Transport.Program program) {
    return object(out -> {
      inputs(out, program.inputs());
      out.writeName("steps");
      out.writeStartArray();
      for (var step : program.steps()) {
        out.writeStartObject();
        out.writeStringProperty("op", step.op());
        sources(out, step.inputs());
        attributes(out, step.attributes());
        names(out, "outputs", step.outputs());
        out.writeEndObject();
      }
      out.writeEndArray();
      targets(out, program.outputs());
    });
  }

  static ByteBuffer model(
      @Nullable String session,
      Map<String, Operand> inputs,
      Map<String, Transport.Target> targets) {
    return object(out -> {
      if (session != null) {
        out.writeStringProperty("session", session);
      }
      inputs(out, inputs);
      targets(out, targets);
    });
  }

  static ByteBuffer generate(GenerateRequest request) {
    return object(out -> request.members().forEach(out::writePOJOProperty));
  }

  static ByteBuffer lease(long seconds) {
    return object(out -> out.writeNumberProperty("ttlSeconds", seconds));
  }

  private static ByteBuffer object(Consumer<JsonGenerator> members) {
    var bytes = new ByteArrayOutputStream();
    try (var out = MAPPER.createGenerator(bytes)) {
      out.writeStartObject();
      members.accept(out);
      out.writeEndObject();
    }
    return ByteBuffer.wrap(bytes.toByteArray());
  }

  private static void inputs(JsonGenerator out, Map<String, Operand> inputs) {
    out.writeName("inputs");
    out.writeStartObject();
    inputs.forEach((name, operand) -> {
      out.writeName(name);
      out.writeStartObject();
      if (operand instanceof HostTensor values) {
        out.writeStringProperty("dtype", values.dtype().text());
        shape(out, values.shape());
        out.writeName("base64");
        out.writeBinary(values.toBytes());
      } else {
        out.writeStringProperty("handle", Session.handle(operand));
        if (operand instanceof TensorView view) {
          view(out, view);
        }
      }
      out.writeEndObject();
    });
    out.writeEndObject();
  }

  private static void view(JsonGenerator out, TensorView view) {
    shape(out, view.shape());
    if (view.offset() != null) {
      out.writeNumberProperty("offset", view.offset());
    }
    if (!view.strides().isEmpty()) {
      integers(out, "strides", view.strides());
    }
  }

  private static void shape(JsonGenerator out, List<Long> shape) {
    integers(out, "shape", shape);
  }

  private static void integers(JsonGenerator out, String property, List<Long> values) {
    out.writeName(property);
    out.writeStartArray();
    values.forEach(out::writeNumber);
    out.writeEndArray();
  }

  private static void sources(JsonGenerator out, Map<String, Transport.Source> sources) {
    out.writeName("inputs");
    out.writeStartObject();
    sources.forEach((name, source) -> {
      if (source.view() == null) {
        out.writeStringProperty(name, source.name());
      } else {
        out.writeName(name);
        out.writeStartObject();
        out.writeStringProperty("ref", source.name());
        view(out, source.view());
        out.writeEndObject();
      }
    });
    out.writeEndObject();
  }

  private static void names(JsonGenerator out, String property, Map<String, String> names) {
    out.writeName(property);
    out.writeStartObject();
    names.forEach(out::writeStringProperty);
    out.writeEndObject();
  }

  private static void attributes(JsonGenerator out, Map<String, Object> attributes) {
    out.writeName("attributes");
    out.writeStartObject();
    attributes.forEach(out::writePOJOProperty);
    out.writeEndObject();
  }

  private static void targets(JsonGenerator out, Map<String, Transport.Target> targets) {
    out.writeName("outputs");
    out.writeStartObject();
    targets.forEach((name, target) -> {
      out.writeName(name);
      out.writeStartObject();
      if (target.handle() != null) {
        out.writeStringProperty("into", target.handle());
      } else {
        out.writeStringProperty("as", target.inline() ? "inline" : "handle");
      }
      if (target.inline()) {
        out.writeStringProperty("encoding", "base64");
      }
      out.writeEndObject();
    });
    out.writeEndObject();
  }

  static Map<String, Transport.Output> outputs(ByteBuffer answer) {
    var outputs = new LinkedHashMap<String, Transport.Output>();
    for (var entry : read(answer).path("outputs").properties()) {
      outputs.put(entry.getKey(), output(entry.getValue()));
    }
    return outputs;
  }

  private static Transport.Output output(JsonNode output) {
    if (output.has("handle")) {
      return new Transport.Output(null, tensor(output));
    }
    var data = ByteBuffer.wrap(output.path("base64").binaryValue());
    return new Transport.Output(HostTensor.wrap(dtype(output), shape(output), data), null);
  }

  static TensorInfo tensor(ByteBuffer answer) {
    return tensor(read(answer));
  }

  private static TensorInfo tensor(JsonNode tensor) {
    return new TensorInfo(
        tensor.path("handle").asString(),
        optional(tensor, "name"),
        replicas(tensor),
        optional(tensor, "scope"),
        dtype(tensor),
        shape(tensor),
        tensor.path("bytes").asLong(),
        tensor.path("device").asString(""),
        tensor.path("version").asLong(),
        optional(tensor, "createdAt").map(Instant::parse),
        optional(tensor, "expiresAt").map(Instant::parse));
  }

  private static List<String> replicas(JsonNode tensor) {
    var replicas = new ArrayList<String>();
    tensor.path("replicas").forEach(id -> replicas.add(id.asString()));
    return replicas;
  }

  static Transport.Page page(ByteBuffer answer) {
    var page = read(answer);
    var tensors = new ArrayList<TensorInfo>();
    page.path("tensors").forEach(tensor -> tensors.add(tensor(tensor)));
    return new Transport.Page(tensors, optional(page, "next"));
  }

  static List<OpDescription> ops(ByteBuffer answer) {
    var ops = new ArrayList<OpDescription>();
    read(answer).path("ops").forEach(op -> ops.add(MAPPER.treeToValue(op, OpDescription.class)));
    return ops;
  }

  static ModelInfo model(ByteBuffer answer) {
    return MAPPER.treeToValue(read(answer), ModelInfo.class);
  }

  static List<ModelInfo> models(ByteBuffer answer) {
    var models = new ArrayList<ModelInfo>();
    read(answer)
        .path("models")
        .forEach(model -> models.add(MAPPER.treeToValue(model, ModelInfo.class)));
    return models;
  }

  static SessionInfo session(ByteBuffer answer) {
    return session(read(answer));
  }

  static List<SessionInfo> sessions(ByteBuffer answer) {
    var sessions = new ArrayList<SessionInfo>();
    read(answer).path("sessions").forEach(session -> sessions.add(session(session)));
    return sessions;
  }

  private static SessionInfo session(JsonNode session) {
    return new SessionInfo(
        session.path("session").asString(),
        session.path("model").asString(),
        session.path("version").asLong(),
        session.path("length").asInt(),
        session.path("bytes").asLong(),
        optional(session, "expiresAt").map(Instant::parse));
  }

  /** Parses the data of the event {@code token}. */
  static long token(ByteBuffer data) {
    return read(data).path("token").asLong();
  }

  /** Parses the data of the event {@code end}. */
  static Generation generation(List<Long> tokens, ByteBuffer data) {
    var end = read(data);
    return new Generation(
        tokens,
        end.path("reason").asString(),
        end.path("seed").asLong(),
        end.path("length").asInt());
  }

  static List<DeviceInfo> devices(ByteBuffer answer) {
    var devices = new ArrayList<DeviceInfo>();
    read(answer)
        .path("devices")
        .forEach(device -> devices.add(MAPPER.treeToValue(device, DeviceInfo.class)));
    return devices;
  }

  static String version(ByteBuffer answer) {
    return read(answer).path("version").asString("");
  }

  static Execution execution(ByteBuffer answer) {
    return execution(read(answer));
  }

  static Execution execution(JsonNode answer) {
    return new Execution(answer.path("device").asString(""), answer.path("kernel").asString(""));
  }

  private static DType dtype(JsonNode tensor) {
    return DType.of(tensor.path("dtype").asString());
  }

  private static List<Long> shape(JsonNode tensor) {
    var shape = new ArrayList<Long>();
    tensor.path("shape").forEach(extent -> shape.add(extent.asLong()));
    return shape;
  }

  private static Optional<String> optional(JsonNode node, String member) {
    var value = node.path(member);
    return value.isString() ? Optional.of(value.asString()) : Optional.empty();
  }

  private static JsonNode read(ByteBuffer answer) {
    return MAPPER.readTree(
        answer.array(), answer.arrayOffset() + answer.position(), answer.remaining());
  }

  /** Parses a problem that contains its status. */
  static AthanorException.Problem problem(ByteBuffer data) {
    return problem(read(data).path("status").asInt(500), data, null);
  }

  /** Parses a problem (RFC 9457); other bodies, such as a proxy's, yield a generic detail. */
  static AthanorException.Problem problem(
      int status, ByteBuffer body, @Nullable Duration retryAfter) {
    JsonNode problem;
    try {
      problem = read(body);
    } catch (JacksonException e) {
      problem = MAPPER.missingNode();
    }
    var type = problem.path("type").asString("");
    var step = problem.path("step");
    return new AthanorException.Problem(
        type.startsWith(PROBLEM) ? type.substring(PROBLEM.length()) : "http-" + status,
        status,
        problem.path("detail").asString("The service responded with status " + status + "."),
        optional(problem, "traceId").orElse(null),
        retryAfter,
        optional(problem, "op").orElse(null),
        optional(problem, "field").orElse(null),
        step.isNumber() ? step.asInt() : null,
        optional(problem, "replica").orElse(null));
  }
}
