package dev.athanor.service.rest;

import dev.athanor.service.codec.DecodeBudget;
import dev.athanor.service.codec.Json;
import dev.athanor.service.codec.TensorWriter.Encoding;
import dev.athanor.service.codec.Tensors;
import dev.athanor.service.device.InlineMemory;
import dev.athanor.service.device.RequestMemory;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.http.HttpRequests;
import dev.athanor.service.http.RestSettings;
import dev.athanor.service.metrics.Metrics;
import dev.athanor.service.model.HeldBody;
import dev.athanor.service.model.StoredModel;
import dev.athanor.service.model.StoredModels;
import dev.athanor.service.rest.tensors.Media;
import dev.athanor.service.run.Call;
import dev.athanor.service.run.Call.Target;
import dev.athanor.service.run.OpRunner;
import dev.athanor.service.session.SessionRuns;
import dev.athanor.service.session.Sessions;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.DeleteMapping;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.PutMapping;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;

/** Stores ONNX models and runs them. */
@RestController
class StoredModelController {

  private static final String ONNX = "application/onnx";
  private static final List<String> KEYS = List.of("inputs", "outputs", "session");

  private final StoredModels models;
  private final Sessions sessions;
  private final SessionRuns runs;
  private final OpRunner runner;
  private final Metrics metrics;
  private final RestSettings settings;
  private final InlineMemory inline;

  StoredModelController(
      StoredModels models,
      Sessions sessions,
      SessionRuns runs,
      OpRunner runner,
      Metrics metrics,
      RestSettings settings,
      InlineMemory inline) {
    this.models = models;
    this.sessions = sessions;
    this.runs = runs;
    this.runner = runner;
    this.metrics = metrics;
    this.settings = settings;
    this.inline = inline;
  }

  /** A model in answers. */
  record View(String name, long version, String created, List<Input> inputs, List<String> outputs) {

    /** An input; extents are numbers, or names of extents that calls choose. */
    record Input(String name, String dtype, List<String> shape) {}

    static View of(StoredModel stored) {
      return new View(
          stored.name(),
          stored.version(),
          stored.created().toString(),
          stored.definition().inputs().stream()
              .map(input -> new Input(input.name(), input.dtype().text(), input.extents()))
              .toList(),
          stored.definition().outputs());
    }
  }

  @PutMapping("/models/{name}")
  void put(
      @PathVariable("name") String name, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    requireOnnx(request);
    Media.ofAnswer(request, Media.JSON);
    HttpRequests.checkQuery(request, List.of());
    StoredModel stored;
    try (var memory = inline.open(HttpRequests.account(request));
        var body = HttpRequests.body(request, settings.maxBodyBytes())) {
      stored = models.put(name, HeldBody.read(body, memory), HttpRequests.context(request));
    }
    response.setStatus(HttpServletResponse.SC_CREATED);
    response.setHeader("Location", "/models/" + name);
    answer(View.of(stored), response);
  }

  private static void requireOnnx(HttpServletRequest request) {
    var given = request.getContentType();
    if (given == null || !given.strip().equalsIgnoreCase(ONNX)) {
      throw new Failure.Refused(
          Code.UNSUPPORTED_MEDIA_TYPE,
          "Content-Type",
          "Content-Type is %s; it must be %s"
              .formatted(given == null ? "missing" : Tensors.excerpt(given), ONNX));
    }
  }

  @GetMapping("/models")
  void list(HttpServletRequest request, HttpServletResponse response) throws IOException {
    Media.ofAnswer(request, Media.JSON);
    HttpRequests.checkQuery(request, List.of());
    var stored = models.list(HttpRequests.tenant(request));
    answer(Map.of("models", stored.stream().map(View::of).toList()), response);
  }

  @GetMapping("/models/{name}")
  void describe(
      @PathVariable("name") String name, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    Media.ofAnswer(request, Media.JSON);
    HttpRequests.checkQuery(request, List.of());
    answer(View.of(models.get(HttpRequests.tenant(request), name)), response);
  }

  @DeleteMapping("/models/{name}")
  @ResponseStatus(HttpStatus.NO_CONTENT)
  void delete(@PathVariable("name") String name, HttpServletRequest request) {
    HttpRequests.checkQuery(request, List.of());
    models.delete(name, HttpRequests.context(request));
  }

  @PostMapping("/models/{name}/run")
  void run(
      @PathVariable("name") String name, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    Outcomes.count(
        metrics,
        HttpRequests.tenant(request),
        OpRunner.PIPELINE,
        () -> {
          try (var memory = inline.open(HttpRequests.account(request))) {
            run(name, request, response, memory);
          }
        });
  }

  private void run(
      String name, HttpServletRequest request, HttpServletResponse response, RequestMemory memory)
      throws IOException {
    Media.ofBody(request, Media.JSON);
    Media.ofAnswer(request, Media.JSON);
    HttpRequests.checkQuery(request, List.of());
    var context = HttpRequests.context(request, memory);
    long limit = settings.maxBodyBytes();
    var inputs = new LinkedHashMap<String, Call.Input>();
    var targets = new LinkedHashMap<String, Target>();
    var encodings = new HashMap<String, Encoding>();
    var session = new String[1];
    var budget = new DecodeBudget(memory, limit);
    Json.read(
        HttpRequests.body(request, limit),
        parser -> {
          RequestJson.members(
              parser,
              "body",
              Code.MALFORMED_BODY,
              key -> {
                switch (key) {
                  case "inputs" ->
                      RequestJson.members(
                          parser,
                          key,
                          Code.INVALID_TENSOR,
                          input ->
                              inputs.put(
                                  input, RequestJson.input(parser, "inputs." + input, budget)));
                  case "outputs" ->
                      RequestJson.members(
                          parser,
                          key,
                          Code.INVALID_ATTRIBUTE,
                          output -> {
                            var asked = RequestJson.output(parser, "outputs." + output);
                            targets.put(output, asked.target());
                            encodings.put(output, asked.encoding());
                          });
                  case "session" -> session[0] = Json.string(parser, key, Code.INVALID_ATTRIBUTE);
                  default -> throw Json.unknown("", key, KEYS);
                }
              });
          return inputs;
        });
    var result =
        session[0] == null
            ? models.run(name, inputs, targets, context, runner::run)
            : runs.run(sessions.get(context.tenant(), name, session[0]), inputs, targets, context);
    RunAnswers.pipeline(response, result, encodings);
  }

  private static void answer(Object value, HttpServletResponse response) throws IOException {
    response.setContentType(Media.JSON.text());
    Json.writeValue(response.getOutputStream(), value);
  }
}
