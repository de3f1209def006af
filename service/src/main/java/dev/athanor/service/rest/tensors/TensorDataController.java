package dev.athanor.service.rest.tensors;

import dev.athanor.ops.TensorType;
import dev.athanor.service.codec.Json;
import dev.athanor.service.codec.Npy;
import dev.athanor.service.codec.Safetensors;
import dev.athanor.service.codec.TensorWriter;
import dev.athanor.service.device.DeviceHealth;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.http.HttpRequests;
import dev.athanor.service.http.PacedOutput;
import dev.athanor.service.tensor.TensorInfo;
import dev.athanor.service.tensor.TensorStore;
import dev.athanor.service.transfer.ReadAhead;
import dev.athanor.service.transfer.Transfers;
import jakarta.servlet.ServletOutputStream;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RequestMethod;
import org.springframework.web.bind.annotation.RestController;

/** Endpoints that read the contents of resident tensors, in pieces. */
@RestController
class TensorDataController {

  /** The name of the tensor in a safetensors file. */
  private static final String IN_SAFETENSORS = "tensor";

  private final TensorStore store;
  private final Transfers transfers;
  private final DeviceHealth health;

  TensorDataController(TensorStore store, Transfers transfers, DeviceHealth health) {
    this.store = store;
    this.transfers = transfers;
    this.health = health;
  }

  /** Returns size, dtype and shape without accessing the device. */
  @RequestMapping(path = "/tensors/{handle}/data", method = RequestMethod.HEAD)
  void head(
      @PathVariable("handle") String handle,
      HttpServletRequest request,
      HttpServletResponse response) {
    HttpRequests.checkQuery(request, List.of());
    var media = Media.ofAnswer(request, Media.values());
    var info = store.of(HttpRequests.tenant(request)).describe(handle);
    headers(response, info, media);
    switch (media) {
      case OCTET_STREAM -> response.setContentLengthLong(info.type().bytes());
      case NPY, SAFETENSORS ->
          response.setContentLengthLong(header(info.type(), media).length + info.type().bytes());
      case JSON -> {} // the length is not known in advance
    }
  }

  @RequestMapping(path = "/tensors/{handle}/data", method = RequestMethod.GET)
  void get(
      @PathVariable("handle") String handle,
      HttpServletRequest request,
      HttpServletResponse response)
      throws IOException {
    HttpRequests.checkQuery(request, List.of());
    var media = Media.ofAnswer(request, Media.values());
    var terms = HttpRequests.context(request);
    var info = store.of(terms.tenant()).describe(handle);
    if (ETags.has(request.getHeader("If-None-Match"), info.version(), media)) {
      response.setHeader("Vary", "Accept");
      TensorAnswers.sendNotModified(response, info, media);
      return;
    }
    health.admit();
    try (var reader = transfers.open(handle, terms)) {
      // the headers describe the version that the reader holds
      var held = reader.info();
      var ifMatch = request.getHeader("If-Match");
      if (!ETags.allows(ifMatch, held.version())) {
        throw Transfers.mismatch(held.version());
      }
      switch (media) {
        case OCTET_STREAM -> octets(reader, held, request, response);
        case NPY, SAFETENSORS -> file(reader, held, media, response);
        case JSON -> json(reader, held, response);
      }
    }
  }

  private static void octets(
      Transfers.Reader reader,
      TensorInfo info,
      HttpServletRequest request,
      HttpServletResponse response)
      throws IOException {
    long size = info.type().bytes();
    var ifRange = request.getHeader("If-Range");
    boolean whole = ifRange != null && !ifRange.strip().equals(ETags.of(info.version()));
    try {
      var range = ByteRange.of(whole ? null : request.getHeader("Range"), size);
      var part = range.orElse(new ByteRange(0, size - 1));
      try (var pieces = reader.pieces(part.first(), part.length())) {
        headers(response, info, Media.OCTET_STREAM);
        response.setContentLengthLong(part.length());
        if (range.isPresent()) {
          response.setStatus(HttpServletResponse.SC_PARTIAL_CONTENT);
          response.setHeader(
              "Content-Range", "bytes %d-%d/%d".formatted(part.first(), part.last(), size));
        }
        write(pieces, PacedOutput.of(response));
      }
    } catch (Failure.Refused e) {
      if (e.code() == Code.RANGE_NOT_SATISFIABLE) {
        response.setHeader("Content-Range", "bytes */" + size);
      }
      throw e;
    }
  }

  private static void file(
      Transfers.Reader reader, TensorInfo info, Media media, HttpServletResponse response)
      throws IOException {
    var header = header(info.type(), media);
    try (var pieces = reader.pieces(0, info.type().bytes())) {
      headers(response, info, media);
      response.setContentLengthLong(header.length + info.type().bytes());
      var out = PacedOutput.of(response);
      out.write(header);
      write(pieces, out);
    }
  }

  private static void json(Transfers.Reader reader, TensorInfo info, HttpServletResponse response)
      throws IOException {
    if (info.type().dtype().isBlock()) {
      throw new Failure.Refused(
          Code.NOT_ACCEPTABLE,
          "Accept",
          "%s is a block format, which JSON numbers cannot represent; request application/octet-stream"
              .formatted(info.type().dtype().text()));
    }
    try (var pieces = reader.pieces(0, info.type().bytes())) {
      headers(response, info, Media.JSON);
      // closed only on success: an aborted response must not look complete
      var out = Json.write(PacedOutput.of(response));
      out.writeStartObject();
      TensorWriter.writeType(out, info.type());
      out.writeName("data");
      out.writeStartArray();
      do {
        TensorWriter.writeElements(out, info.type().dtype(), pieces.current().bytes());
      } while (pieces.next());
      out.writeEndArray();
      out.writeEndObject();
      out.close();
    }
  }

  private static void write(ReadAhead pieces, ServletOutputStream out) throws IOException {
    do {
      out.write(pieces.current().bytes().asByteBuffer());
    } while (pieces.next());
  }

  private static void headers(HttpServletResponse response, TensorInfo info, Media media) {
    TensorAnswers.headers(response, info, media);
    response.setContentType(media.text());
    response.setHeader("Vary", "Accept");
    if (media == Media.OCTET_STREAM) {
      response.setHeader("Accept-Ranges", "bytes");
    }
  }

  /** Returns the file header that precedes the elements. */
  private static byte[] header(TensorType type, Media media) {
    boolean npy = media == Media.NPY;
    var header =
        npy ? Npy.header(type) : Safetensors.header(Map.of(IN_SAFETENSORS, type), Map.of());
    return header.orElseThrow(() ->
        new Failure.Refused(
            Code.NOT_ACCEPTABLE,
            "Accept",
            "%s has no %s type; application/octet-stream %s"
                .formatted(
                    type.dtype().text(),
                    npy ? "npy" : "safetensors",
                    type.dtype().isBlock() ? "has it" : "and application/json have it")));
  }
}
