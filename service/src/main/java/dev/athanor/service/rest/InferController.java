package dev.athanor.service.rest;

import dev.athanor.service.codec.DecodeBudget;
import dev.athanor.service.device.InlineMemory;
import dev.athanor.service.device.RequestMemory;
import dev.athanor.service.http.HttpRequests;
import dev.athanor.service.http.Problems;
import dev.athanor.service.http.RestSettings;
import dev.athanor.service.metrics.Metrics;
import dev.athanor.service.openinference.Models;
import dev.athanor.service.rest.tensors.Media;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import org.jspecify.annotations.Nullable;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;

/** Inference endpoints of the Open Inference Protocol. */
@RestController
class InferController {

  private final Models models;
  private final Metrics metrics;
  private final RestSettings settings;
  private final InlineMemory inline;

  InferController(Models models, Metrics metrics, RestSettings settings, InlineMemory inline) {
    this.models = models;
    this.metrics = metrics;
    this.settings = settings;
    this.inline = inline;
  }

  @PostMapping({"/v2/models/{op}/infer", "/v2/models/{op}/versions/{version}/infer"})
  void infer(
      @PathVariable("op") String name,
      @PathVariable(name = "version", required = false) @Nullable String version,
      HttpServletRequest request,
      HttpServletResponse response)
      throws IOException {
    Outcomes.count(
        metrics,
        HttpRequests.tenant(request),
        models.label(HttpRequests.tenant(request), name),
        () -> {
          try (var memory = inline.open(HttpRequests.account(request))) {
            run(name, version, request, response, memory);
          }
        });
  }

  /**
   * Runs a model. As in Triton, only {@code Inference-Header-Content-Length} determines the format
   * of the body, since clients send no media type or an arbitrary one.
   */
  private void run(
      String name,
      @Nullable String version,
      HttpServletRequest request,
      HttpServletResponse response,
      RequestMemory memory)
      throws IOException {
    var model = models.find(HttpRequests.tenant(request), name, version);
    request.setAttribute(Problems.OP, name);
    Media.ofAnswer(request, Media.JSON, Media.OCTET_STREAM);
    HttpRequests.checkNoQuery(request);
    var context = HttpRequests.context(request, memory);
    long limit = settings.maxBodyBytes();
    var header = HttpRequests.inferenceHeader(request, limit);
    InferRequest asked;
    try (var body = HttpRequests.unpacked(request, limit)) {
      asked = InferRequest.read(model, body, header, new DecodeBudget(memory, limit));
    }
    var inference = models.infer(model, asked.request(), context);
    RunAnswers.timing(response, inference.result().timing());
    InferAnswer.send(response, asked, inference);
  }
}
