package dev.athanor.service.rest;

import dev.athanor.ops.TensorType;
import dev.athanor.service.codec.Json;
import dev.athanor.service.codec.TensorWriter;
import dev.athanor.service.http.HttpRequests;
import dev.athanor.service.http.PacedOutput;
import dev.athanor.service.openinference.Datatypes;
import dev.athanor.service.openinference.Inference;
import dev.athanor.service.openinference.InferenceRequest;
import dev.athanor.service.rest.tensors.Media;
import dev.athanor.service.run.Result;
import jakarta.servlet.http.HttpServletResponse;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Map;
import tools.jackson.core.JsonGenerator;

/** Writes inference responses: JSON, optionally followed by outputs as raw bytes. */
final class InferAnswer {

  private InferAnswer() {}

  static void send(HttpServletResponse response, InferRequest asked, Inference inference)
      throws IOException {
    var data = new ArrayList<MemorySegment>();
    inference
        .result()
        .outputs()
        .forEach((name, output) -> {
          if (output instanceof Result.Output.Inline(var tensor) && asked.isBinary(name)) {
            data.add(tensor.data());
          }
        });
    if (data.isEmpty()) {
      response.setContentType(Media.JSON.text());
      try (var out = Json.write(PacedOutput.of(response))) {
        write(out, asked, inference);
      }
      return;
    }
    var header = new ByteArrayOutputStream();
    try (var out = Json.write(header)) {
      write(out, asked, inference);
    }
    response.setContentType(Media.OCTET_STREAM.text());
    response.setHeader(HttpRequests.INFERENCE_HEADER, Integer.toString(header.size()));
    response.setContentLengthLong(
        header.size() + data.stream().mapToLong(MemorySegment::byteSize).sum());
    var out = PacedOutput.of(response);
    header.writeTo(out);
    for (var each : data) {
      RunAnswers.write(out, each);
    }
  }

  private static void write(JsonGenerator out, InferRequest asked, Inference inference) {
    out.writeStartObject();
    out.writeStringProperty("model_name", inference.model().name());
    out.writeStringProperty("model_version", inference.model().version());
    if (asked.id() != null) {
      out.writeStringProperty("id", asked.id());
    }
    parameters(out, inference.parameters());
    out.writeName("outputs");
    out.writeStartArray();
    inference
        .result()
        .outputs()
        .forEach((name, output) -> output(out, name, output, asked.isBinary(name)));
    out.writeEndArray();
    out.writeEndObject();
  }

  private static void output(JsonGenerator out, String name, Result.Output output, boolean binary) {
    out.writeStartObject();
    out.writeStringProperty("name", name);
    switch (output) {
      case Result.Output.Inline(var tensor) -> {
        type(out, tensor.type());
        if (binary) {
          parameters(out, Map.of("binary_data_size", tensor.type().bytes()));
        } else {
          out.writeName("data");
          out.writeStartArray();
          TensorWriter.writeElements(out, tensor.type().dtype(), tensor.data());
          out.writeEndArray();
        }
      }
      case Result.Output.Resident(var info) -> {
        type(out, info.type());
        // Triton's C++ client rejects parameters without a size
        parameters(
            out, Map.of(InferenceRequest.TENSOR_HANDLE, info.handle(), "binary_data_size", 0L));
      }
    }
    out.writeEndObject();
  }

  private static void type(JsonGenerator out, TensorType type) {
    out.writeStringProperty("datatype", Datatypes.name(type.dtype()));
    out.writeName("shape");
    out.writeStartArray();
    type.shape().extents().forEach(out::writeNumber);
    out.writeEndArray();
  }

  private static void parameters(JsonGenerator out, Map<String, ?> parameters) {
    out.writeName("parameters");
    out.writeStartObject();
    parameters.forEach((name, value) -> {
      out.writeName(name);
      switch (value) {
        case Double number -> out.writeNumber(number);
        case Long number -> out.writeNumber(number);
        case Object text -> out.writeString(text.toString());
      }
    });
    out.writeEndObject();
  }
}
