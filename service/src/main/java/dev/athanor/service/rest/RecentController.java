package dev.athanor.service.rest;

import dev.athanor.service.codec.Json;
import dev.athanor.service.http.HttpRequests;
import dev.athanor.service.metrics.LoadHistory;
import dev.athanor.service.metrics.Metrics;
import dev.athanor.service.metrics.RecentRequests;
import dev.athanor.service.rest.tensors.Media;
import dev.athanor.service.tensor.Tenant;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import tools.jackson.core.JsonGenerator;

/**
 * Endpoint {@code GET /recent}: the load of the last minutes, the slowest requests and the last
 * failures. It covers all tenants, as metrics do, but messages and trace ids only of the caller's.
 */
@RestController
class RecentController {

  private final LoadHistory history;
  private final RecentRequests requests;

  RecentController(LoadHistory history, Metrics metrics) {
    this.history = history;
    requests = metrics.recent();
  }

  @GetMapping("/recent")
  void recent(HttpServletRequest request, HttpServletResponse response) throws IOException {
    HttpRequests.checkQuery(request, List.of());
    response.setContentType(Media.ofAnswer(request, Media.JSON).text());
    var tenant = HttpRequests.tenant(request);
    try (var out = Json.write(response.getOutputStream())) {
      out.writeStartObject();
      out.writeArrayPropertyStart("load");
      history.samples().forEach(sample -> write(out, sample));
      out.writeEndArray();
      out.writeArrayPropertyStart("slowest");
      requests.slowest().forEach(run -> write(out, run, tenant));
      out.writeEndArray();
      out.writeArrayPropertyStart("failures");
      requests.failures().forEach(failed -> write(out, failed, tenant));
      out.writeEndArray();
      out.writeEndObject();
    }
  }

  private static void write(JsonGenerator out, LoadHistory.Sample sample) {
    out.writeStartObject();
    out.writeStringProperty("time", sample.time().toString());
    out.writeNumberProperty("requests", sample.requests());
    out.writeNumberProperty("errors", sample.errors());
    out.writeNumberProperty("completed", sample.completed());
    out.writeNumberProperty("completedMicros", sample.completedMicros());
    out.writeNumberProperty("queueDepth", sample.queueDepth());
    out.writeNumberProperty("streamsBusy", sample.streamsBusy());
    out.writeNumberProperty("memoryUsed", sample.memoryUsed());
    out.writeNumberProperty("memoryPooled", sample.memoryPooled());
    out.writeEndObject();
  }

  private static void write(JsonGenerator out, RecentRequests.Run run, Tenant tenant) {
    boolean own = run.tenant().equals(tenant);
    out.writeStartObject();
    out.writeStringProperty("time", run.time().toString());
    out.writeStringProperty("op", run.op());
    out.writeStringProperty("device", run.device());
    RunAnswers.timing(out, run.micros());
    text(out, "traceId", own ? run.traceId() : null);
    out.writeEndObject();
  }

  private static void write(JsonGenerator out, RecentRequests.Failed failed, Tenant tenant) {
    boolean own = failed.tenant().equals(tenant);
    out.writeStartObject();
    out.writeStringProperty("time", failed.time().toString());
    out.writeStringProperty("op", failed.op());
    out.writeStringProperty("code", failed.code());
    text(out, "detail", own ? failed.detail() : null);
    text(out, "traceId", own ? failed.traceId() : null);
    out.writeEndObject();
  }

  private static void text(JsonGenerator out, String name, @Nullable String value) {
    if (value == null) {
      out.writeNullProperty(name);
    } else {
      out.writeStringProperty(name, value);
    }
  }
}
