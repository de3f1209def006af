package dev.athanor.service.rest;

import dev.athanor.engine.device.Device;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.Op;
import dev.athanor.service.codec.Json;
import dev.athanor.service.codec.OpView;
import dev.athanor.service.codec.TensorWriter;
import dev.athanor.service.codec.TensorWriter.Encoding;
import dev.athanor.service.codec.Tensors;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.metrics.Metrics;
import dev.athanor.service.metrics.Metrics.Phase;
import dev.athanor.service.run.OpRunner;
import dev.athanor.service.run.Result;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import java.util.StringJoiner;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;
import tools.jackson.core.JsonGenerator;

/** The catalogue, and calls of its ops. */
@RestController
class OpController {

  private final Catalogue catalogue;
  private final OpRunner runner;
  private final Metrics metrics;
  private final RestSettings settings;
  private final String device;

  OpController(
      Catalogue catalogue, OpRunner runner, Metrics metrics, RestSettings settings, Device device) {
    this.catalogue = catalogue;
    this.runner = runner;
    this.metrics = metrics;
    this.settings = settings;
    this.device = device.capability().id();
  }

  @GetMapping("/ops")
  void list(HttpServletRequest request, HttpServletResponse response) throws IOException {
    Requests.checkQuery(request, List.of());
    answer(
        OpView.Ops.of(catalogue.all().stream().map(Op::description).toList()), request, response);
  }

  @GetMapping("/ops/{op}")
  void describe(
      @PathVariable("op") String name, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    Requests.checkQuery(request, List.of());
    answer(OpView.of(find(name).description()), request, response);
  }

  @PostMapping("/ops/{op}")
  void run(
      @PathVariable("op") String name, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    // names that nobody knows are counted together, or clients could grow the metrics
    var label = catalogue.find(name).isPresent() ? name : "unknown";
    try {
      run(find(name), request, response);
      metrics.request(label, "ok");
    } catch (Failure e) {
      metrics.request(label, e.code().text());
      throw e;
    }
  }

  private void run(Op op, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    request.setAttribute(Problems.OP, op.description().name());
    Media.ofBody(request, Media.JSON);
    Media.ofAnswer(request, Media.JSON);
    Requests.checkQuery(request, List.of());
    var terms = Requests.terms(request);
    var body = Requests.body(request, settings.maxBodyBytes());
    var asked = OpRequest.read(op, body, settings.maxBodyBytes(), terms);
    var result = runner.run(asked.call());
    response.setHeader("Server-Timing", serverTiming(result.timing()));
    try (var out = answer(request, response)) {
      out.writeStartObject();
      out.writeStringProperty("op", op.description().name());
      out.writeStringProperty("device", device);
      out.writeStringProperty("kernel", result.kernel());
      out.writeName("outputs");
      out.writeStartObject();
      for (var output : result.outputs().entrySet()) {
        out.writeName(output.getKey());
        var encoding = asked.encodings().getOrDefault(output.getKey(), Encoding.JSON);
        output(out, output.getValue(), encoding);
      }
      out.writeEndObject();
      out.writeName("timing");
      timing(out, result.timing());
      out.writeEndObject();
    }
  }

  private static void output(JsonGenerator out, Result.Output output, Encoding encoding)
      throws IOException {
    out.writeStartObject();
    switch (output) {
      case Result.Output.Inline(var tensor) -> TensorWriter.writeMembers(out, tensor, encoding);
      case Result.Output.Resident(var info) -> {
        out.writeStringProperty("handle", info.handle());
        TensorWriter.writeType(out, info.type());
        out.writeNumberProperty("bytes", info.type().bytes());
        out.writeNumberProperty("version", info.version());
      }
    }
    out.writeEndObject();
  }

  private static void timing(JsonGenerator out, Result.Timing timing) {
    out.writeStartObject();
    out.writeNumberProperty("queueMicros", tenths(timing.queue()));
    out.writeNumberProperty("uploadMicros", tenths(timing.upload()));
    out.writeNumberProperty("kernelMicros", tenths(timing.kernel()));
    out.writeNumberProperty("downloadMicros", tenths(timing.download()));
    out.writeNumberProperty("totalMicros", tenths(timing.total()));
    out.writeEndObject();
  }

  private static double tenths(double micros) {
    return Math.round(micros * 10) / 10.0;
  }

  /** In milliseconds, as the header has them. */
  static String serverTiming(Result.Timing timing) {
    var text = new StringJoiner(", ");
    for (var phase : Phase.values()) {
      double micros =
          switch (phase) {
            case QUEUE -> timing.queue();
            case UPLOAD -> timing.upload();
            case KERNEL -> timing.kernel();
            case DOWNLOAD -> timing.download();
            case TOTAL -> timing.total();
          };
      text.add(String.format(Locale.ROOT, "%s;dur=%.4f", phase.text(), micros / 1e3));
    }
    return text.toString();
  }

  private Op find(String name) {
    return catalogue
        .find(name)
        .orElseThrow(() ->
            new Failure.Refused(
                Code.UNKNOWN_OP,
                "there is no op \"%s\"; GET /ops lists them".formatted(Tensors.excerpt(name))));
  }

  private static void answer(Object value, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    Media.ofAnswer(request, Media.JSON);
    response.setContentType(Media.JSON.text());
    Json.writeValue(response.getOutputStream(), value);
  }

  private static JsonGenerator answer(HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    Media.ofAnswer(request, Media.JSON);
    response.setContentType(Media.JSON.text());
    return Json.write(response.getOutputStream());
  }
}
