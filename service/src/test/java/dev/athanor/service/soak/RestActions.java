package dev.athanor.service.soak;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op;
import dev.athanor.ops.TensorType;
import dev.athanor.service.codec.Json;
import dev.athanor.service.codec.TensorWriter;
import dev.athanor.service.codec.TensorWriter.Encoding;
import dev.athanor.service.openinference.Datatypes;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.BiConsumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JsonGenerator;
import tools.jackson.databind.JsonNode;

/** The actions of clients over REST. */
final class RestActions {

  private static final String TYPE = "application/json";
  private static final String RAW = "application/octet-stream";
  private static final byte[] EMPTY = {};
  private static final int MAX_BYTES = 64 << 10;
  private static final Duration LEASE = Duration.ofSeconds(1);

  private final Rest rest;
  private final URI url;
  private final Duration tombstoneTtl;
  private final Op norm;
  private final Op product;
  private final Queue<Leased> leased = new ConcurrentLinkedQueue<>();

  /**
   * A tensor that must expire.
   *
   * @param requested the time before its creation
   * @param created the time after its creation; the lease began in between
   */
  private record Leased(String handle, String key, long requested, long created) {
    boolean isOver() {
      return System.nanoTime() - created > LEASE.toNanos() * 3 / 2;
    }

    boolean mayBeForgotten(Duration tombstoneTtl) {
      return System.nanoTime() - requested > LEASE.plus(tombstoneTtl).toNanos();
    }
  }

  /**
   * @param tombstoneTtl how long the service distinguishes expired handles from unknown ones
   */
  RestActions(Rest rest, URI url, Catalogue catalogue, Duration tombstoneTtl) {
    this.rest = rest;
    this.url = url;
    this.tombstoneTtl = tombstoneTtl;
    norm = catalogue.find("rms-norm").orElseThrow();
    product = catalogue.find("matmul").orElseThrow();
  }

  Map<String, Turn.Action> all() {
    var actions = new LinkedHashMap<String, Turn.Action>();
    actions.put("REST op, inline", this::inline);
    actions.put("REST op, resident", this::resident);
    actions.put("REST tensor's life", this::life);
    actions.put("REST lease", this::lease);
    actions.put("REST pipeline", this::pipeline);
    actions.put("REST op, deadline", this::runWithDeadline);
    actions.put("REST op, hangs up", this::disconnect);
    actions.put("OIP JSON", this::inferJson);
    actions.put("OIP bytes", this::inferBytes);
    return actions;
  }

  // -- ops

  private void inline(Turn turn) throws Exception {
    run(turn, "X-Priority", Integer.toString(turn.priority()));
  }

  private void runWithDeadline(Turn turn) throws Exception {
    run(turn, "X-Deadline-Ms", Integer.toString(turn.millis()));
  }

  private void run(Turn turn, String... headers) throws Exception {
    var encoding = turn.random().nextBoolean() ? Encoding.JSON : Encoding.BASE64;
    var answer =
        rest.send(
            turn.key(),
            "POST",
            path(turn.sample()),
            TYPE,
            inline(turn.sample(), encoding),
            headers);
    var outputs = answer.json().path("outputs");
    turn.sample().check(name -> tensor(outputs.path(name)));
  }

  private static String path(Sample sample) {
    return "/ops/" + sample.name();
  }

  private static byte[] inline(Sample sample, Encoding encoding) {
    return call(
        sample,
        (out, name) -> TensorWriter.writeMembers(out, sample.input(name), encoding),
        out -> {
          out.writeStringProperty("as", "inline");
          out.writeStringProperty("encoding", encoding == Encoding.JSON ? "json" : "base64");
        });
  }

  /** Runs an op on resident inputs and outputs, and deletes them afterwards. */
  private void resident(Turn turn) throws Exception {
    var sample = turn.sample();
    var scope = "soak-%016x".formatted(turn.random().nextLong());
    var kept = new ArrayList<String>();
    try {
      var handles = new LinkedHashMap<String, String>();
      for (var name : sample.inputs()) {
        handles.put(name, create(turn, sample.input(name), "&scope=" + scope));
      }
      var body =
          call(
              sample,
              (out, name) -> out.writeStringProperty("handle", handles.get(name)),
              out -> out.writeStringProperty("as", "handle"));
      var outputs = rest.send(turn.key(), "POST", path(sample), TYPE, body).json().path("outputs");
      var results = new LinkedHashMap<String, HostTensor>();
      for (var name : sample.reference().keySet()) {
        kept.add(outputs.path(name).path("handle").asString());
      }
      for (var name : sample.reference().keySet()) {
        var path = "/tensors/" + outputs.path(name).path("handle").asString() + "/data";
        var bytes = rest.send(turn.key(), "GET", path, RAW, EMPTY).body();
        results.put(name, new HostTensor(type(outputs.path(name)), MemorySegment.ofArray(bytes)));
      }
      sample.check(name -> Objects.requireNonNull(results.get(name), name));
    } finally {
      rest.send(turn.key(), "DELETE", "/tensors?scope=" + scope, "", EMPTY);
      for (var handle : kept) {
        delete(turn, handle);
      }
    }
  }

  private void pipeline(Turn turn) throws Exception {
    int n = turn.random().nextInt(1, 40);
    var x = draw(turn, n, 16);
    var gamma = draw(turn, 16);
    var w = draw(turn, 16, 8);
    var none = Attributes.of(norm.description(), Map.of());
    var h = Objects.requireNonNull(norm.reference(Map.of("x", x, "gamma", gamma), none).get("y"));
    var c =
        Objects.requireNonNull(
            product
                .reference(
                    Map.of("a", HostTensor.of(TensorType.of(DType.F32, n, 16), h), "b", w),
                    Attributes.of(product.description(), Map.of()))
                .get("c"));
    var body = new ByteArrayOutputStream();
    try (var out = Json.write(body)) {
      out.writeStartObject();
      members(
          out,
          "inputs",
          List.of("x", "gamma", "w"),
          (each, name) ->
              TensorWriter.writeMembers(
                  each, name.equals("x") ? x : name.equals("w") ? w : gamma, Encoding.BASE64));
      out.writeName("steps");
      out.writeRawValue(
          """
          [{"op": "rms-norm", "inputs": {"x": "x", "gamma": "gamma"}, "outputs": {"y": "h"}},
           {"op": "matmul", "inputs": {"a": "h", "b": "w"}, "outputs": {"c": "z"}}]\
          """);
      out.writeEndObject();
    }
    var answer = rest.send(turn.key(), "POST", "/pipelines/run", TYPE, body.toByteArray());
    var z = tensor(answer.json().path("outputs").path("z")).toDoubles();
    for (int i = 0; i < c.length; i++) {
      if (!(Math.abs(z[i] - c[i]) <= 1e-4)) {
        throw new AssertionError("z[%d] of a pipeline is %s, not %s".formatted(i, z[i], c[i]));
      }
    }
  }

  private static HostTensor draw(Turn turn, long... extents) {
    var type = TensorType.of(DType.F32, extents);
    return HostTensor.of(
        type, turn.random().doubles(type.shape().elements(), -1, 1).map(x -> (float) x).toArray());
  }

  /** Sends a call and closes the connection. */
  private void disconnect(Turn turn) throws IOException {
    var body = inline(turn.sample(), Encoding.BASE64);
    var head =
        "POST %s HTTP/1.1\r\nHost: localhost\r\nX-API-Key: %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n"
            .formatted(path(turn.sample()), turn.key(), TYPE, body.length);
    try (var socket = new Socket(InetAddress.getLoopbackAddress(), url.getPort())) {
      var out = socket.getOutputStream();
      out.write(head.getBytes(StandardCharsets.US_ASCII));
      out.write(body);
      out.flush();
    }
  }

  // -- tensors

  private String create(Turn turn, HostTensor tensor, String query) throws Exception {
    var type = tensor.type();
    var extents =
        type.shape().extents().stream().map(String::valueOf).collect(Collectors.joining(","));
    var path = "/tensors?dtype=%s&shape=%s%s".formatted(type.dtype().text(), extents, query);
    var bytes = tensor.data().toArray(ValueLayout.JAVA_BYTE);
    return rest.send(turn.key(), "POST", path, RAW, bytes).json().path("handle").asString();
  }

  private String create(Turn turn, byte[] bytes, String query) throws Exception {
    var type = TensorType.of(DType.U8, bytes.length);
    return create(turn, new HostTensor(type, MemorySegment.ofArray(bytes)), query);
  }

  private void delete(Turn turn, String handle) throws Exception {
    rest.send(turn.key(), "DELETE", "/tensors/" + handle, "", EMPTY);
  }

  /** The second deletion also succeeds while the service has a tombstone of the handle. */
  private void deleteTwice(Turn turn, String handle) throws Exception {
    long start = System.nanoTime();
    delete(turn, handle);
    try {
      delete(turn, handle);
    } catch (Refusal e) {
      boolean forgotten = System.nanoTime() - start >= tombstoneTtl.toNanos();
      if (!(forgotten && e.code().equals("unknown-handle"))) {
        throw e;
      }
    }
  }

  /** Creates a tensor, reads a part, replaces it, renews it and deletes it twice. */
  private void life(Turn turn) throws Exception {
    var first = turn.bytes(MAX_BYTES);
    var handle = create(turn, first, "");
    var path = "/tensors/" + handle;
    try {
      int from = turn.random().nextInt(first.length);
      int to = turn.random().nextInt(from, first.length);
      var range = "bytes=%d-%d".formatted(from, to);
      var part = rest.send(turn.key(), "GET", path + "/data", RAW, EMPTY, "Range", range);
      equal(Arrays.copyOfRange(first, from, to + 1), part.body(), range);

      var second = new byte[first.length];
      turn.random().nextBytes(second);
      rest.send(turn.key(), "PUT", path + "/data", RAW, second, "If-Match", "\"1\"");
      rest.refused(
          "version-mismatch", turn.key(), "PUT", path + "/data", first, "If-Match", "\"1\"");
      rest.send(
          turn.key(), "PATCH", path, TYPE, "{\"ttlSeconds\": 60}".getBytes(StandardCharsets.UTF_8));
      equal(second, rest.send(turn.key(), "GET", path + "/data", RAW, EMPTY).body(), "all bytes");
    } finally {
      deleteTwice(turn, handle);
    }
    rest.refused("unknown-handle", turn.key(), "GET", path, EMPTY);
  }

  private static void equal(byte[] expected, byte[] got, String what) {
    if (!Arrays.equals(expected, got)) {
      throw new AssertionError("%s of a tensor differs from the sent bytes".formatted(what));
    }
  }

  /** Creates a tensor with a short lease, and checks that an earlier one has expired. */
  private void lease(Turn turn) throws Exception {
    var before = leased.peek();
    if (before != null && before.isOver() && leased.remove(before)) {
      try {
        rest.refused("expired-handle", before.key, "GET", "/tensors/" + before.handle, EMPTY);
      } catch (Refusal e) {
        if (!(e.code().equals("unknown-handle") && before.mayBeForgotten(tombstoneTtl))) {
          throw e;
        }
      }
    }
    long requested = System.nanoTime();
    var handle = create(turn, turn.bytes(MAX_BYTES), "&ttlSeconds=" + LEASE.toSeconds());
    leased.add(new Leased(handle, turn.key(), requested, System.nanoTime()));
  }

  // -- Open Inference

  private void inferJson(Turn turn) throws Exception {
    var sample = turn.sample();
    if (!hasNumbers(sample)) {
      inferBytes(turn);
      return;
    }
    var answer =
        rest.send(turn.key(), "POST", inferPath(sample), TYPE, infer(sample, false)).json();
    sample.check(name -> {
      var output = output(answer, name);
      var type = inferType(output);
      return HostTensor.of(type, numbers(output.path("data")));
    });
  }

  private void inferBytes(Turn turn) throws Exception {
    var sample = turn.sample();
    var header = infer(sample, true);
    var body = new ByteArrayOutputStream();
    body.writeBytes(header);
    for (var name : sample.inputs()) {
      body.writeBytes(sample.input(name).data().toArray(ValueLayout.JAVA_BYTE));
    }
    var answer =
        rest.send(
            turn.key(),
            "POST",
            inferPath(sample),
            RAW,
            body.toByteArray(),
            "Inference-Header-Content-Length",
            Integer.toString(header.length));
    int length =
        (int) answer.headers().firstValueAsLong("Inference-Header-Content-Length").orElseThrow();
    var json = Rest.JSON.readTree(Arrays.copyOf(answer.body(), length));
    var at = new LinkedHashMap<String, Integer>();
    int next = length;
    for (var output : json.path("outputs")) {
      at.put(output.path("name").asString(), next);
      next += output.path("parameters").path("binary_data_size").asInt();
    }
    sample.check(name -> {
      var type = inferType(output(json, name));
      int from = Objects.requireNonNull(at.get(name), name);
      var bytes = Arrays.copyOfRange(answer.body(), from, from + (int) type.bytes());
      return new HostTensor(type, MemorySegment.ofArray(bytes));
    });
  }

  /** Returns whether the inputs and outputs can be sent as JSON numbers. */
  private static boolean hasNumbers(Sample sample) {
    return sample.test().inputs().values().stream()
            .map(tensor -> tensor.type().dtype())
            .allMatch(dtype -> dtype == DType.F32 || dtype == DType.I32)
        && sample.test().attributes().values().values().stream()
            .noneMatch(value -> DType.of(value.toString()).isPresent());
  }

  private static String inferPath(Sample sample) {
    return "/v2/models/%s/infer".formatted(sample.name());
  }

  private static byte[] infer(Sample sample, boolean binary) {
    var body = new ByteArrayOutputStream();
    try (var out = Json.write(body)) {
      out.writeStartObject();
      out.writeName("inputs");
      out.writeStartArray();
      for (var name : sample.inputs()) {
        var tensor = sample.input(name);
        out.writeStartObject();
        out.writeStringProperty("name", name);
        out.writeStringProperty("datatype", Datatypes.name(tensor.type().dtype()));
        out.writeName("shape");
        out.writeStartArray();
        tensor.type().shape().extents().forEach(out::writeNumber);
        out.writeEndArray();
        if (binary) {
          out.writeName("parameters");
          out.writeStartObject();
          out.writeNumberProperty("binary_data_size", tensor.type().bytes());
          out.writeEndObject();
        } else {
          out.writeName("data");
          out.writeStartArray();
          TensorWriter.writeElements(out, tensor.type().dtype(), tensor.data());
          out.writeEndArray();
        }
        out.writeEndObject();
      }
      out.writeEndArray();
      out.writeName("parameters");
      out.writeStartObject();
      attributes(out, sample);
      out.writeBooleanProperty("binary_data_output", binary);
      out.writeEndObject();
      out.writeEndObject();
    }
    return body.toByteArray();
  }

  private static JsonNode output(JsonNode answer, String name) {
    for (var output : answer.path("outputs")) {
      if (output.path("name").asString().equals(name)) {
        return output;
      }
    }
    throw new AssertionError("no output " + name);
  }

  private static TensorType inferType(JsonNode output) {
    var dtype = Datatypes.of(output.path("datatype").asString(), "datatype");
    return type(dtype.text(), output);
  }

  // -- JSON

  private static byte[] call(
      Sample sample,
      BiConsumer<JsonGenerator, String> input,
      java.util.function.Consumer<JsonGenerator> output) {
    var body = new ByteArrayOutputStream();
    try (var out = Json.write(body)) {
      out.writeStartObject();
      members(out, "inputs", sample.inputs(), input);
      out.writeName("attributes");
      out.writeStartObject();
      attributes(out, sample);
      out.writeEndObject();
      members(out, "outputs", sample.reference().keySet(), (each, _) -> output.accept(each));
      out.writeEndObject();
    }
    return body.toByteArray();
  }

  private static void members(
      JsonGenerator out,
      String name,
      Iterable<String> keys,
      BiConsumer<JsonGenerator, String> member) {
    out.writeName(name);
    out.writeStartObject();
    for (var key : keys) {
      out.writeName(key);
      out.writeStartObject();
      member.accept(out, key);
      out.writeEndObject();
    }
    out.writeEndObject();
  }

  private static void attributes(JsonGenerator out, Sample sample) {
    sample
        .test()
        .attributes()
        .values()
        .forEach((name, value) -> {
          switch (value) {
            case Boolean flag -> out.writeBooleanProperty(name, flag);
            case Long integer -> out.writeNumberProperty(name, integer);
            case Double number when Double.isFinite(number) ->
                out.writeNumberProperty(name, number);
            default -> out.writeStringProperty(name, value.toString());
          }
        });
  }

  private static HostTensor tensor(JsonNode node) {
    var type = type(node);
    var base64 = node.path("base64");
    return base64.isMissingNode()
        ? HostTensor.of(type, numbers(node.path("data")))
        : new HostTensor(
            type, MemorySegment.ofArray(Base64.getDecoder().decode(base64.asString())));
  }

  private static double[] numbers(JsonNode list) {
    var numbers = new double[list.size()];
    for (int i = 0; i < numbers.length; i++) {
      var node = list.get(i);
      numbers[i] =
          node.isBoolean()
              ? (node.asBoolean() ? 1 : 0)
              : node.isString() ? Double.parseDouble(node.asString()) : node.asDouble();
    }
    return numbers;
  }

  private static TensorType type(JsonNode node) {
    return type(node.path("dtype").asString(), node);
  }

  private static TensorType type(@Nullable String dtype, JsonNode node) {
    var extents = new ArrayList<String>();
    node.path("shape").forEach(extent -> extents.add(extent.asString()));
    return TensorType.parse(dtype + "[" + String.join(",", extents) + "]");
  }
}
