package dev.athanor.service.rest;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.athanor.service.codec.DecodeBudget;
import dev.athanor.service.codec.Json;
import dev.athanor.service.codec.TensorJson;
import dev.athanor.service.codec.TensorWriter.Encoding;
import dev.athanor.service.device.InlineMemory;
import dev.athanor.service.device.RequestMemory;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.http.HttpRequests;
import dev.athanor.service.http.RestSettings;
import dev.athanor.service.metrics.Metrics;
import dev.athanor.service.model.ExtentRanges;
import dev.athanor.service.model.ModelId;
import dev.athanor.service.model.ModelUpload;
import dev.athanor.service.model.ModelUpload.Format;
import dev.athanor.service.model.StoredModel;
import dev.athanor.service.model.StoredModels;
import dev.athanor.service.replica.ReplicatedModels;
import dev.athanor.service.rest.tensors.Media;
import dev.athanor.service.rest.tensors.ReplicaRequests;
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
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.DeleteMapping;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.PutMapping;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;
import tools.jackson.core.JsonParser;

/** Stores models and runs them. */
@RestController
class StoredModelController {

  private static final List<String> KEYS = List.of("inputs", "outputs", "session");
  private static final String VERSION = "version";

  private final StoredModels models;
  private final ReplicatedModels replicated;
  private final Sessions sessions;
  private final SessionRuns runs;
  private final OpRunner runner;
  private final Metrics metrics;
  private final RestSettings settings;
  private final InlineMemory inline;

  StoredModelController(
      StoredModels models,
      ReplicatedModels replicated,
      Sessions sessions,
      SessionRuns runs,
      OpRunner runner,
      Metrics metrics,
      RestSettings settings,
      InlineMemory inline) {
    this.models = models;
    this.replicated = replicated;
    this.sessions = sessions;
    this.runs = runs;
    this.runner = runner;
    this.metrics = metrics;
    this.settings = settings;
    this.inline = inline;
  }

  /**
   * A version of a model in answers.
   *
   * @param replicas the ids of the replicas that got it; null if it was only this one
   * @param unreachable the ids of those that could not be asked; null if none was to be
   */
  record View(
      String name,
      long version,
      List<Long> versions,
      String created,
      List<Input> inputs,
      List<String> outputs,
      Map<String, ExtentRanges.Range> extents,
      @Nullable String batch,
      long bytes,
      @Nullable List<String> replicas,
      @JsonInclude(JsonInclude.Include.NON_NULL) @Nullable List<String> unreachable) {

    /** An input; extents are numbers, or names of extents that calls choose. */
    record Input(String name, String dtype, List<String> shape) {}
  }

  private View view(StoredModel stored, HttpServletRequest request) {
    return view(stored, null, request);
  }

  private View view(
      StoredModel stored, @Nullable List<String> unreachable, HttpServletRequest request) {
    return new View(
        stored.name(),
        stored.version(),
        models.versions(HttpRequests.tenant(request), stored.name()),
        stored.created().toString(),
        stored.definition().inputs().stream()
            .map(input -> new View.Input(input.name(), input.dtype().text(), input.extents()))
            .toList(),
        stored.definition().outputs(),
        stored.extents().ranges(),
        stored.batch().isEmpty() ? null : stored.batch(),
        stored.bytes(),
        stored.replicas(),
        unreachable);
  }

  @PutMapping("/models/{name}")
  void put(
      @PathVariable("name") String name, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    var type = request.getContentType();
    var format = Format.of(type == null ? "missing" : type, "Content-Type");
    Media.ofAnswer(request, Media.JSON);
    HttpRequests.checkQuery(request, List.of(ExtentRanges.FIELD, ModelUpload.BATCH, "replicas"));
    var ranges = request.getParameter(ExtentRanges.FIELD);
    var extents = ranges == null ? ExtentRanges.ANY : ExtentRanges.parse(ranges);
    var batch = Objects.requireNonNullElse(request.getParameter(ModelUpload.BATCH), "");
    long limit = settings.maxBodyBytes();
    ReplicatedModels.Stored stored;
    try (var memory = inline.open(HttpRequests.account(request));
        var body = HttpRequests.body(request, limit)) {
      var upload = new ModelUpload(body, format, limit, extents, batch);
      var entry = HttpRequests.entry(request, memory);
      int copies = ReplicaRequests.copies(request, replicated.maxCopies(entry));
      stored = replicated.put(entry, name, copies, upload);
    }
    response.setStatus(HttpServletResponse.SC_CREATED);
    response.setHeader("Location", "/models/" + name);
    answer(view(stored.model(), stored.unreachable(), request), response);
  }

  @GetMapping("/models")
  void list(HttpServletRequest request, HttpServletResponse response) throws IOException {
    Media.ofAnswer(request, Media.JSON);
    HttpRequests.checkQuery(request, List.of());
    var stored = models.list(HttpRequests.tenant(request));
    answer(Map.of("models", stored.stream().map(each -> view(each, request)).toList()), response);
  }

  @GetMapping("/models/{name}")
  void describe(
      @PathVariable("name") String name, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    Media.ofAnswer(request, Media.JSON);
    HttpRequests.checkQuery(request, List.of());
    answer(view(models.get(HttpRequests.tenant(request), name), request), response);
  }

  @PutMapping("/models/{name}/default")
  void setDefault(
      @PathVariable("name") String name, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    Media.ofBody(request, Media.JSON);
    Media.ofAnswer(request, Media.JSON);
    HttpRequests.checkQuery(request, List.of());
    var stored =
        replicated.setDefault(
            HttpRequests.entry(request),
            name,
            Json.read(
                HttpRequests.body(request, settings.maxBodyBytes()),
                StoredModelController::version));
    answer(view(stored, request), response);
  }

  private static long version(JsonParser parser) {
    var version = new Long[1];
    Json.members(
        parser,
        "body",
        Code.MALFORMED_BODY,
        key -> {
          if (!key.equals(VERSION)) {
            throw Json.unknown("", key, List.of(VERSION));
          }
          version[0] = TensorJson.integer(parser, VERSION, 1);
        });
    if (version[0] == null) {
      throw new Failure.Refused(
          Code.INVALID_ATTRIBUTE, VERSION, "version is missing; it must be a version of the model");
    }
    return version[0];
  }

  @DeleteMapping("/models/{name}")
  @ResponseStatus(HttpStatus.NO_CONTENT)
  void delete(@PathVariable("name") String name, HttpServletRequest request) throws IOException {
    HttpRequests.checkQuery(request, List.of(VERSION));
    long version = HttpRequests.number(request, VERSION, 1, Long.MAX_VALUE, 0);
    var reference = ModelId.reference(name, version == 0 ? null : Long.toString(version));
    replicated.delete(HttpRequests.entry(request), reference);
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
          Json.members(
              parser,
              "body",
              Code.MALFORMED_BODY,
              key -> {
                switch (key) {
                  case "inputs" ->
                      Json.members(
                          parser,
                          key,
                          Code.INVALID_TENSOR,
                          input ->
                              inputs.put(
                                  input, RequestJson.input(parser, "inputs." + input, budget)));
                  case "outputs" ->
                      Json.members(
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
