package dev.athanor.service.rest;

import dev.athanor.service.codec.TensorWriter;
import dev.athanor.service.codec.TensorWriter.Encoding;
import dev.athanor.service.metrics.Metrics.Phase;
import dev.athanor.service.run.Result;
import jakarta.servlet.http.HttpServletResponse;
import java.util.Locale;
import java.util.Map;
import java.util.StringJoiner;
import tools.jackson.core.JsonGenerator;

/** The parts that answers to a run have in common. */
final class RunAnswers {

  private RunAnswers() {}

  /** Writes the member {@code outputs}. */
  static void outputs(
      JsonGenerator out, Map<String, Result.Output> outputs, Map<String, Encoding> encodings) {
    out.writeName("outputs");
    out.writeStartObject();
    outputs.forEach((name, output) -> {
      out.writeName(name);
      out.writeStartObject();
      switch (output) {
        case Result.Output.Inline(var tensor) ->
            TensorWriter.writeMembers(out, tensor, encodings.getOrDefault(name, Encoding.JSON));
        case Result.Output.Resident(var info) -> {
          out.writeStringProperty("handle", info.handle());
          TensorWriter.writeType(out, info.type());
          out.writeNumberProperty("bytes", info.type().bytes());
          out.writeNumberProperty("version", info.version());
        }
      }
      out.writeEndObject();
    });
    out.writeEndObject();
  }

  /** Writes the member {@code timing}. */
  static void timing(JsonGenerator out, Result.Timing timing) {
    out.writeName("timing");
    out.writeStartObject();
    out.writeNumberProperty("queueMicros", tenths(timing.queue()));
    out.writeNumberProperty("uploadMicros", tenths(timing.upload()));
    out.writeNumberProperty("kernelMicros", tenths(timing.kernel()));
    out.writeNumberProperty("downloadMicros", tenths(timing.download()));
    out.writeNumberProperty("totalMicros", tenths(timing.total()));
    out.writeEndObject();
  }

  static double tenths(double micros) {
    return Math.round(micros * 10) / 10.0;
  }

  /** Sets the header {@code Server-Timing}, which is in milliseconds. */
  static void timing(HttpServletResponse response, Result.Timing timing) {
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
    response.setHeader("Server-Timing", text.toString());
  }
}
