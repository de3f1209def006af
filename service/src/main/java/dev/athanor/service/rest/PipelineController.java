package dev.athanor.service.rest;

import dev.athanor.ops.Catalogue;
import dev.athanor.service.codec.Json;
import dev.athanor.service.device.InlineMemory;
import dev.athanor.service.device.RequestMemory;
import dev.athanor.service.http.HttpRequests;
import dev.athanor.service.http.PacedOutput;
import dev.athanor.service.http.RestSettings;
import dev.athanor.service.metrics.Metrics;
import dev.athanor.service.rest.tensors.Media;
import dev.athanor.service.run.IdempotentCalls;
import dev.athanor.service.run.OpRunner;
import dev.athanor.service.run.Result;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.List;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;
import tools.jackson.core.JsonGenerator;

/** Endpoint {@code POST /pipelines/run}. */
@RestController
class PipelineController {

  private final Catalogue catalogue;
  private final OpRunner runner;
  private final IdempotentCalls idempotent;
  private final Metrics metrics;
  private final RestSettings settings;
  private final InlineMemory inline;

  PipelineController(
      Catalogue catalogue,
      OpRunner runner,
      IdempotentCalls idempotent,
      Metrics metrics,
      RestSettings settings,
      InlineMemory inline) {
    this.catalogue = catalogue;
    this.runner = runner;
    this.idempotent = idempotent;
    this.metrics = metrics;
    this.settings = settings;
    this.inline = inline;
  }

  @PostMapping("/pipelines/run")
  void run(HttpServletRequest request, HttpServletResponse response) throws IOException {
    Outcomes.count(
        metrics, HttpRequests.tenant(request), OpRunner.PIPELINE, () -> answer(request, response));
  }

  private void answer(HttpServletRequest request, HttpServletResponse response) throws IOException {
    try (var memory = inline.open(HttpRequests.account(request))) {
      answer(request, response, memory);
    }
  }

  private void answer(
      HttpServletRequest request, HttpServletResponse response, RequestMemory memory)
      throws IOException {
    Media.ofBody(request, Media.JSON);
    Media.ofAnswer(request, Media.JSON);
    HttpRequests.checkQuery(request, List.of());
    var context = HttpRequests.context(request, memory);
    long limit = settings.maxBodyBytes();
    var body = new KeyedBody(request, limit);
    var asked = PipelineRequest.read(catalogue, body.body(), limit, context);
    var pipeline = asked.pipeline();
    var result =
        body.run(
            Media.JSON,
            () -> runner.run(pipeline),
            (key, fingerprint) ->
                idempotent.run(pipeline, HttpRequests.IDEMPOTENCY_KEY, key, fingerprint));
    RunAnswers.timing(response, result.timing());
    response.setContentType(Media.JSON.text());
    try (var out = Json.write(PacedOutput.of(response))) {
      out.writeStartObject();
      out.writeStringProperty("device", result.device());
      steps(out, result.steps());
      RunAnswers.outputs(out, result.outputs(), asked.encodings());
      RunAnswers.timing(out, result.timing()::micros);
      out.writeEndObject();
    }
  }

  private static void steps(JsonGenerator out, List<Result.Step> steps) {
    out.writeName("steps");
    out.writeStartArray();
    for (var step : steps) {
      out.writeStartObject();
      out.writeStringProperty("op", step.op());
      out.writeStringProperty("kernel", step.kernel());
      out.writeNumberProperty("kernelMicros", RunAnswers.tenths(step.micros()));
      if (step.copiedBytes() > 0) {
        out.writeNumberProperty("copiedBytes", step.copiedBytes());
      }
      out.writeEndObject();
    }
    out.writeEndArray();
  }
}
