package dev.athanor.service.rest.tensors;

import dev.athanor.service.codec.Json;
import dev.athanor.service.codec.TensorWriter;
import dev.athanor.service.tensor.TensorInfo;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JsonGenerator;

/** Writes descriptions of resident tensors. */
final class TensorAnswers {

  private TensorAnswers() {}

  static void write(JsonGenerator out, TensorInfo info) {
    out.writeStartObject();
    members(out, info);
    out.writeEndObject();
  }

  private static void members(JsonGenerator out, TensorInfo info) {
    out.writeStringProperty("handle", info.handle());
    text(out, "name", info.name());
    if (info.replicas() == null) {
      out.writeNullProperty("replicas");
    } else {
      ids(out, "replicas", info.replicas());
    }
    text(out, "scope", info.scope());
    TensorWriter.writeType(out, info.type());
    out.writeNumberProperty("bytes", info.type().bytes());
    out.writeStringProperty("device", info.device());
    out.writeNumberProperty("version", info.version());
    out.writeStringProperty("createdAt", info.createdAt().toString());
    text(out, "expiresAt", info.expiresAt());
  }

  private static void ids(JsonGenerator out, String name, List<String> replicas) {
    out.writeName(name);
    out.writeStartArray();
    replicas.forEach(out::writeString);
    out.writeEndArray();
  }

  private static void text(JsonGenerator out, String name, @Nullable Object value) {
    if (value == null) {
      out.writeNullProperty(name);
    } else {
      out.writeStringProperty(name, value.toString());
    }
  }

  /** Answers that the client has the current version. */
  static void sendNotModified(HttpServletResponse response, TensorInfo info, Media media) {
    headers(response, info, media);
    response.setStatus(HttpServletResponse.SC_NOT_MODIFIED);
  }

  /** Sends a description as JSON. */
  static void send(HttpServletResponse response, int status, TensorInfo info) throws IOException {
    response.setStatus(status);
    headers(response, info);
    response.setContentType(Media.JSON.text());
    try (var out = Json.write(response.getOutputStream())) {
      write(out, info);
    }
  }

  /** Sends the description of a stored tensor and the replicas that did not respond. */
  static void sendStored(
      HttpServletResponse response, int status, TensorInfo info, List<String> unreachable)
      throws IOException {
    response.setStatus(status);
    headers(response, info);
    response.setContentType(Media.JSON.text());
    try (var out = Json.write(response.getOutputStream())) {
      out.writeStartObject();
      members(out, info);
      ids(out, "unreachable", unreachable);
      out.writeEndObject();
    }
  }

  /** Sends only the handle as a line of text, for shell scripts. */
  static void sendHandle(HttpServletResponse response, int status, TensorInfo info)
      throws IOException {
    response.setStatus(status);
    headers(response, info);
    response.setContentType("text/plain");
    response.setCharacterEncoding(StandardCharsets.UTF_8);
    response.getOutputStream().print(info.handle() + "\n");
  }

  private static void headers(HttpServletResponse response, TensorInfo info) {
    headers(response, info, Media.OCTET_STREAM);
  }

  /**
   * Sets the headers that describe a tensor.
   *
   * @param media the format of the contents
   */
  static void headers(HttpServletResponse response, TensorInfo info, Media media) {
    response.setHeader("ETag", ETags.of(info.version(), media));
    response.setHeader("Athanor-Dtype", info.type().dtype().text());
    response.setHeader(
        "Athanor-Shape",
        info.type().shape().extents().stream()
            .map(String::valueOf)
            .collect(Collectors.joining(",")));
    response.setHeader("Athanor-Bytes", Long.toString(info.type().bytes()));
  }
}
