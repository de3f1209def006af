package dev.athanor.service.rest;

import dev.athanor.ops.Catalogue;
import dev.athanor.ops.DType;
import dev.athanor.ops.Op;
import dev.athanor.service.codec.Json;
import dev.athanor.service.codec.OpView;
import dev.athanor.service.codec.PlanView;
import dev.athanor.service.codec.Safetensors;
import dev.athanor.service.codec.Tensors;
import dev.athanor.service.device.DeviceRuntimes;
import dev.athanor.service.device.InlineMemory;
import dev.athanor.service.device.RequestMemory;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.http.HttpRequests;
import dev.athanor.service.http.PacedOutput;
import dev.athanor.service.http.Problems;
import dev.athanor.service.http.RestSettings;
import dev.athanor.service.metrics.Metrics;
import dev.athanor.service.rest.tensors.Media;
import dev.athanor.service.run.IdempotentCalls;
import dev.athanor.service.run.OpNames;
import dev.athanor.service.run.OpRunner;
import dev.athanor.service.run.Result;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.List;
import java.util.Set;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;

/** Endpoints to list, describe and run ops. */
@RestController
class OpController {

  private final Catalogue catalogue;
  private final OpRunner runner;
  private final IdempotentCalls idempotent;
  private final Metrics metrics;
  private final RestSettings settings;
  private final DeviceRuntimes runtimes;
  private final InlineMemory inline;

  OpController(
      Catalogue catalogue,
      OpRunner runner,
      IdempotentCalls idempotent,
      Metrics metrics,
      RestSettings settings,
      DeviceRuntimes runtimes,
      InlineMemory inline) {
    this.catalogue = catalogue;
    this.runner = runner;
    this.idempotent = idempotent;
    this.metrics = metrics;
    this.settings = settings;
    this.runtimes = runtimes;
    this.inline = inline;
  }

  @GetMapping("/ops")
  void list(HttpServletRequest request, HttpServletResponse response) throws IOException {
    HttpRequests.checkQuery(request, List.of());
    answer(
        OpView.Ops.of(catalogue.all().stream().map(Op::description).toList()), request, response);
  }

  @GetMapping("/ops/{op}")
  void describe(
      @PathVariable("op") String name, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    HttpRequests.checkQuery(request, List.of());
    answer(OpView.of(find(name).description()), request, response);
  }

  /** Returns the PTX of the kernels that a problem would run. */
  @GetMapping("/ops/{op}/ptx")
  void ptx(
      @PathVariable("op") String name, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    request.setAttribute(Problems.OP, name);
    HttpRequests.checkQuery(request, List.of("problem", "assemble"));
    var op = find(name);
    var problem = request.getParameter("problem");
    if (problem == null) {
      throw new Failure.Refused(
          Code.INVALID_ATTRIBUTE,
          "problem",
          "the query parameter problem is missing; give the inputs and attributes, such as a=f32[64,64] b=f32[64,64]");
    }
    var device = runtimes.first();
    var target = assembles(request) ? device.device().capability().target() : null;
    answer(
        PlanView.of(name, device.device().capability(), problem, runner.plan(op, problem), target),
        request,
        response);
  }

  private static boolean assembles(HttpServletRequest request) {
    return switch (request.getParameter("assemble")) {
      case null -> false;
      case "false" -> false;
      case "true" -> true;
      case String other ->
          throw new Failure.Refused(
              Code.INVALID_ATTRIBUTE,
              "assemble",
              "the query parameter assemble must be true or false, got \"%s\""
                  .formatted(Tensors.excerpt(other)));
    };
  }

  @PostMapping("/ops/{op}")
  void run(
      @PathVariable("op") String name, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    Outcomes.count(
        metrics,
        HttpRequests.tenant(request),
        Outcomes.label(catalogue, name),
        () -> run(find(name), request, response));
  }

  private void run(Op op, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    try (var memory = inline.open(HttpRequests.account(request))) {
      run(op, request, response, memory);
    }
  }

  private void run(
      Op op, HttpServletRequest request, HttpServletResponse response, RequestMemory memory)
      throws IOException {
    request.setAttribute(Problems.OP, op.description().name());
    var media = Media.ofBody(request, Media.JSON, Media.SAFETENSORS);
    // without a preference, the response has the format of the request
    var other = media == Media.JSON ? Media.SAFETENSORS : Media.JSON;
    var wanted = Media.ofAnswer(request, media, other);
    var context = HttpRequests.context(request, memory);
    long limit = settings.maxBodyBytes();
    var body = new KeyedBody(request, limit);
    var encodable = wanted == Media.JSON ? Set.of(DType.values()) : Safetensors.dtypes();
    OpRequest asked;
    if (media == Media.JSON) {
      HttpRequests.checkQuery(request, List.of());
      asked = OpRequest.read(op, body.body(), limit, encodable, context);
    } else {
      asked = OpRequest.ofSafetensors(op, request, body.body(), limit, encodable, context);
    }
    var call = asked.call();
    var result =
        body.run(
            media,
            () -> runner.run(call),
            (key, fingerprint) ->
                idempotent.run(call, HttpRequests.IDEMPOTENCY_KEY, key, fingerprint));
    RunAnswers.timing(response, result.timing());
    response.setHeader("Vary", "Accept");
    if (wanted == Media.SAFETENSORS) {
      RunAnswers.safetensors(response, result);
    } else {
      json(response, asked, result);
    }
  }

  private void json(HttpServletResponse response, OpRequest asked, Result result)
      throws IOException {
    response.setContentType(Media.JSON.text());
    try (var out = Json.write(PacedOutput.of(response))) {
      out.writeStartObject();
      out.writeStringProperty("op", asked.call().op().description().name());
      out.writeStringProperty("device", result.device());
      out.writeStringProperty("kernel", result.kernel());
      RunAnswers.outputs(out, result.outputs(), asked.encodings());
      RunAnswers.timing(out, result.timing()::micros);
      out.writeEndObject();
    }
  }

  private Op find(String name) {
    return OpNames.find(catalogue, name, null);
  }

  private static void answer(Object value, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    Media.ofAnswer(request, Media.JSON);
    response.setContentType(Media.JSON.text());
    Json.writeValue(response.getOutputStream(), value);
  }
}
