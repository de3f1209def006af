package dev.athanor.service.rest;

import dev.athanor.ops.Catalogue;
import dev.athanor.service.device.InlineMemory;
import dev.athanor.service.device.RequestMemory;
import dev.athanor.service.http.HttpRequests;
import dev.athanor.service.http.RestSettings;
import dev.athanor.service.metrics.Metrics;
import dev.athanor.service.rest.tensors.Media;
import dev.athanor.service.run.IdempotentCalls;
import dev.athanor.service.run.OpRunner;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.List;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;

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
    RunAnswers.pipeline(response, result, asked.encodings());
  }
}
