package dev.athanor.cli.load;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.Problem;
import dev.athanor.ops.TensorType;
import dev.athanor.service.codec.Json;
import dev.athanor.service.codec.TensorWriter;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.http.HttpRequest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import java.util.stream.StreamSupport;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonGenerator;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Runs an op.
 *
 * @param resident whether inputs are handles and outputs are written into tensors that are there,
 *     instead of both travelling, as lists of numbers or in gRPC as bytes
 */
record OpCall(String text, Problem problem, boolean resident, boolean grpc, long seed)
    implements Scenario {

  private static final JsonMapper JSON = new JsonMapper();
  private static final String TYPE = "application/json";

  @Override
  public long bytes() {
    return 0;
  }

  private OpDescription op() {
    return problem.op().description();
  }

  private List<String> outputs() {
    return op().outputs().stream()
        .filter(output -> !output.optional())
        .map(OpDescription.Output::name)
        .toList();
  }

  @Override
  public Ready prepare(Client client, Resident kept, int slots) throws InterruptedException {
    var drawn = problem.draw(new SplittableRandom(seed));
    var handles = new LinkedHashMap<String, String>();
    for (var input : drawn.entrySet()) {
      handles.put(input.getKey(), kept.put(input.getValue()));
    }
    BiConsumer<JsonGenerator, String> byHandle =
        (out, name) -> out.writeStringProperty("handle", handles.get(name));
    BiConsumer<JsonGenerator, String> inline =
        (out, name) ->
            TensorWriter.writeMembers(
                out, Objects.requireNonNull(drawn.get(name)), TensorWriter.Encoding.JSON);
    var keep = call(client, byHandle, (out, _) -> out.writeStringProperty("as", "handle"));
    var first = Posting.outputs(client.expect(keep));
    var expected = new HashMap<String, byte[]>();
    for (var output : outputs()) {
      var handle = kept.adopt(JSON.writeValueAsBytes(first.path(output)));
      expected.put(output, kept.contents(handle));
      check(drawn, output, first.path(output), Objects.requireNonNull(expected.get(output)));
    }
    var bySlot = new ArrayList<Map<String, String>>();
    for (int slot = 0; slot < slots; slot++) {
      var own = new HashMap<String, String>();
      if (resident) {
        var answer = Posting.outputs(client.expect(keep));
        for (var output : outputs()) {
          own.put(output, kept.adopt(JSON.writeValueAsBytes(answer.path(output))));
        }
      }
      bySlot.add(own);
    }
    var targets = new Targets(kept, expected, bySlot);
    if (grpc) {
      var run = new OpMessages.Run(op().name(), attributes());
      var requests =
          bySlot.stream().map(own -> resident ? run.on(handles, own) : run.of(drawn)).toList();
      return new OpMessages(client.grpc(), requests, targets);
    }
    var requests = new ArrayList<HttpRequest>();
    for (var own : bySlot) {
      requests.add(
          resident
              ? call(
                  client, byHandle, (out, name) -> out.writeStringProperty("into", own.get(name)))
              : call(client, inline, (out, _) -> out.writeStringProperty("as", "inline")));
    }
    var answer = resident ? JSON.nullNode() : Posting.outputs(client.expect(requests.getFirst()));
    return new Calling(client, requests, targets, answer);
  }

  /** Those that are not what they would be anyway. */
  private Map<String, Object> attributes() {
    var defaults = Attributes.of(op(), Map.of()).values();
    var changed = new TreeMap<>(problem.attributes().values());
    changed.entrySet().removeIf(entry -> entry.getValue().equals(defaults.get(entry.getKey())));
    return changed;
  }

  private HttpRequest call(
      Client client,
      BiConsumer<JsonGenerator, String> input,
      BiConsumer<JsonGenerator, String> output) {
    var body = new ByteArrayOutputStream();
    try (var out = Json.write(body)) {
      out.writeStartObject();
      members(out, "inputs", problem.inputs().keySet(), input);
      out.writeName("attributes");
      out.writeStartObject();
      attributes().forEach((name, value) -> attribute(out, name, value));
      out.writeEndObject();
      members(out, "outputs", outputs(), output);
      out.writeEndObject();
    }
    return client.request("POST", "/ops/" + op().name(), TYPE, new Body(body.toByteArray()));
  }

  private static void attribute(JsonGenerator out, String name, Object value) {
    switch (value) {
      case Boolean flag -> out.writeBooleanProperty(name, flag);
      case Long integer -> out.writeNumberProperty(name, integer);
      case Double number -> out.writeNumberProperty(name, number);
      default -> out.writeStringProperty(name, value.toString());
    }
  }

  private static void members(
      JsonGenerator out,
      String name,
      Iterable<String> keys,
      BiConsumer<JsonGenerator, String> member) {
    out.writeName(name);
    out.writeStartObject();
    for (var key : StreamSupport.stream(keys.spliterator(), false).sorted().toList()) {
      out.writeName(key);
      out.writeStartObject();
      member.accept(out, key);
      out.writeEndObject();
    }
    out.writeEndObject();
  }

  /** Compares a first result with the op's reference. */
  private void check(
      Map<String, HostTensor> inputs, String output, JsonNode answer, byte[] contents) {
    var extents = new ArrayList<String>();
    answer.path("shape").forEach(extent -> extents.add(extent.asString()));
    var type =
        TensorType.parse(answer.path("dtype").asString() + "[" + String.join(",", extents) + "]");
    var result = new HostTensor(type, MemorySegment.ofArray(contents)).toDoubles();
    var reference =
        Objects.requireNonNull(
            problem.op().reference(inputs, problem.attributes()).get(output), output);
    var tolerance =
        problem.op().tolerance(output, type.dtype(), problem.inputs(), problem.attributes());
    double error = tolerance.error(result, reference);
    if (!(error <= tolerance.limit())) {
      throw new LoadException(
          "the first result of \"%s\" is wrong: the error of %s is %.3g, and %.3g is the most"
              .formatted(text, output, error, tolerance.limit()));
    }
  }

  /**
   * The tensors that outputs are written into.
   *
   * @param expected what is to be in them, by output
   * @param bySlot their handles, by output; none where outputs travel with the answers
   */
  record Targets(Resident kept, Map<String, byte[]> expected, List<Map<String, String>> bySlot) {
    boolean areRight() throws InterruptedException {
      boolean right = true;
      for (var targets : bySlot) {
        for (var target : targets.entrySet()) {
          var contents = Objects.requireNonNull(expected.get(target.getKey()));
          right &= kept.holds(target.getValue(), contents);
        }
      }
      return right;
    }
  }

  /**
   * Runs the op by REST.
   *
   * @param requests by slot
   * @param answer the outputs that every answer has to have; null in JSON where they are not in it
   */
  private record Calling(
      Client client, List<HttpRequest> requests, Targets targets, JsonNode answer)
      implements Ready {

    @Override
    public Client.Answer send(int slot, boolean keep) throws IOException, InterruptedException {
      return client.send(requests.get(slot), keep);
    }

    @Override
    public boolean right(byte[] body) {
      try {
        return answer.isNull() || Posting.outputs(body).equals(answer);
      } catch (JacksonException e) {
        return false;
      }
    }

    @Override
    public boolean left() throws InterruptedException {
      return targets.areRight();
    }
  }
}
