package dev.athanor.service.rest;

import dev.athanor.ops.TensorType;
import dev.athanor.service.codec.Json;
import dev.athanor.service.codec.Safetensors;
import dev.athanor.service.codec.TensorWriter;
import dev.athanor.service.codec.TensorWriter.Encoding;
import dev.athanor.service.http.PacedOutput;
import dev.athanor.service.metrics.Metrics.Phase;
import dev.athanor.service.rest.tensors.Media;
import dev.athanor.service.run.Result;
import jakarta.servlet.ServletOutputStream;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import tools.jackson.core.JsonGenerator;

/** Response elements shared by op and pipeline requests. */
final class RunAnswers {

  private static final long PIECE = 1 << 20;

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

  /** Writes the result of a pipeline or a model as JSON. */
  static void pipeline(HttpServletResponse response, Result result, Map<String, Encoding> encodings)
      throws IOException {
    timing(response, result.timing());
    response.setContentType(Media.JSON.text());
    try (var out = Json.write(PacedOutput.of(response))) {
      out.writeStartObject();
      out.writeStringProperty("device", result.device());
      steps(out, result.steps());
      outputs(out, result.outputs(), encodings);
      timing(out, result.timing()::micros);
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
      out.writeNumberProperty("kernelMicros", tenths(step.micros()));
      if (step.copiedBytes() > 0) {
        out.writeNumberProperty("copiedBytes", step.copiedBytes());
      }
      out.writeEndObject();
    }
    out.writeEndArray();
  }

  /**
   * Writes inline outputs as a safetensors file. Its metadata contains the op, the device, the
   * kernel, and for each resident output {@code c} its handle as {@code handle.c}.
   */
  static void safetensors(HttpServletResponse response, Result result) throws IOException {
    var types = new LinkedHashMap<String, TensorType>();
    var metadata = new LinkedHashMap<String, String>();
    var data = new ArrayList<MemorySegment>();
    metadata.put("op", result.steps().getLast().op());
    metadata.put("device", result.device());
    metadata.put("kernel", result.kernel());
    long bytes = 0;
    for (var output : result.outputs().entrySet()) {
      switch (output.getValue()) {
        case Result.Output.Inline(var tensor) -> {
          types.put(output.getKey(), tensor.type());
          data.add(tensor.data());
          bytes += tensor.type().bytes();
        }
        case Result.Output.Resident(var info) ->
            metadata.put("handle." + output.getKey(), info.handle());
      }
    }
    var header = Safetensors.header(types, metadata).orElseThrow();
    response.setContentType(Media.SAFETENSORS.text());
    response.setContentLengthLong(header.length + bytes);
    var out = PacedOutput.of(response);
    out.write(header);
    for (var segment : data) {
      write(out, segment);
    }
  }

  /** Writes the elements of a tensor as raw bytes. */
  static void write(ServletOutputStream out, MemorySegment data) throws IOException {
    for (long at = 0; at < data.byteSize(); at += PIECE) {
      out.write(data.asSlice(at, Math.min(PIECE, data.byteSize() - at)).asByteBuffer());
    }
  }

  /** Writes the member {@code timing}. */
  static void timing(JsonGenerator out, ToDoubleFunction<Phase> micros) {
    out.writeName("timing");
    out.writeStartObject();
    for (var phase : Phase.values()) {
      out.writeNumberProperty(phase.text() + "Micros", tenths(micros.applyAsDouble(phase)));
    }
    out.writeEndObject();
  }

  static double tenths(double micros) {
    return Math.round(micros * 10) / 10.0;
  }

  /** Sets the header {@code Server-Timing}, which is in milliseconds. */
  static void timing(HttpServletResponse response, Result.Timing timing) {
    var text = new StringBuilder();
    for (var phase : Phase.values()) {
      // four decimals, never an exponent
      long tenths = Math.max(Math.round(timing.micros(phase) * 10), 0);
      text.append(text.isEmpty() ? "" : ", ").append(phase.text()).append(";dur=");
      text.append(tenths / 10_000).append('.');
      text.append(Long.toString(10_000 + tenths % 10_000), 1, 5);
    }
    response.setHeader("Server-Timing", text.toString());
  }
}
