package dev.athanor.service.rest.tensors;

import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import dev.athanor.service.codec.ByteSource;
import dev.athanor.service.codec.DecodeBudget;
import dev.athanor.service.codec.Elements;
import dev.athanor.service.codec.Json;
import dev.athanor.service.codec.Npy;
import dev.athanor.service.codec.Safetensors;
import dev.athanor.service.codec.TensorJson;
import dev.athanor.service.codec.Tensors;
import dev.athanor.service.device.InlineMemory;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.http.HttpRequests;
import dev.athanor.service.http.RestSettings;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.tensor.TensorInfo;
import dev.athanor.service.tensor.TensorOptions;
import dev.athanor.service.tensor.TensorStore;
import dev.athanor.service.transfer.Transfers;
import jakarta.servlet.http.HttpServletRequest;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.stereotype.Component;

/** Tensors in the bodies of requests. */
@Component
class TensorBodies {

  /** The formats that a body may have. */
  static final Media[] FORMATS = {Media.JSON, Media.NPY, Media.SAFETENSORS, Media.OCTET_STREAM};

  private final TensorStore store;
  private final Transfers transfers;
  private final RestSettings settings;
  private final InlineMemory inline;

  TensorBodies(TensorStore store, Transfers transfers, RestSettings settings, InlineMemory inline) {
    this.store = store;
    this.transfers = transfers;
    this.settings = settings;
    this.inline = inline;
  }

  /**
   * Checks that an upload has no query parameters but these, and those of its format.
   *
   * @throws Failure.Refused with {@code unknown-field} or {@code invalid-attribute}
   */
  static void checkQuery(HttpServletRequest request, Media media, List<String> known) {
    HttpRequests.checkQuery(
        request,
        media == Media.OCTET_STREAM
            ? Stream.concat(Stream.of("dtype", "shape"), known.stream()).toList()
            : known);
  }

  /**
   * Makes the tensor in a body resident. The share of the quota is taken once the size is known,
   * before the elements are read.
   */
  TensorInfo create(
      HttpServletRequest request,
      Media media,
      ByteSource body,
      TensorOptions options,
      RequestContext terms)
      throws IOException {
    try (var memory = inline.open(HttpRequests.account(request))) {
      return create(
          request, media, body, new DecodeBudget(memory, settings.maxBodyBytes()), options, terms);
    }
  }

  private TensorInfo create(
      HttpServletRequest request,
      Media media,
      ByteSource body,
      DecodeBudget room,
      TensorOptions options,
      RequestContext terms)
      throws IOException {
    var declared = media == Media.OCTET_STREAM ? declared(request) : null;
    // not a resource of a try: it belongs to the tensor in the end
    var charge = store.of(terms.tenant()).charge(0);
    Elements elements;
    try {
      elements = elements(request, media, declared, body, room);
      charge.resize(elements.type().bytes());
    } catch (IOException | RuntimeException | Error e) {
      charge.close();
      throw e;
    }
    return transfers.create(elements, charge, options, terms);
  }

  /**
   * Returns the elements in a body.
   *
   * @param type what a body has that does not say it itself
   * @param room for what has to be read as a whole
   */
  Elements elements(
      HttpServletRequest request,
      Media media,
      @Nullable TensorType type,
      ByteSource body,
      DecodeBudget room)
      throws IOException {
    return switch (media) {
      case JSON -> Elements.of(json(body, room));
      case NPY -> Npy.open(body, room, "body");
      case SAFETENSORS -> Safetensors.openOne(body, room.limit(), "body");
      case OCTET_STREAM -> octets(Objects.requireNonNull(type), request, body);
    };
  }

  private Elements octets(TensorType type, HttpServletRequest request, ByteSource body) {
    long announced = request.getContentLengthLong();
    if (announced >= 0 && announced != type.bytes()) {
      throw Tensors.wrongSize(type, announced, "body");
    }
    return Elements.of(type, body, settings.maxBodyBytes(), "body");
  }

  private static TensorType declared(HttpServletRequest request) {
    var dtype = request.getParameter("dtype");
    var shape = request.getParameter("shape");
    if (dtype == null || shape == null) {
      var missing = dtype == null ? "dtype" : "shape";
      throw new Failure.Refused(
          Code.INVALID_TENSOR,
          missing,
          "application/octet-stream needs ?dtype=f32&shape=2,3; %s is missing".formatted(missing));
    }
    return Tensors.type(Tensors.dtype(dtype, "dtype"), Tensors.extents(shape, "shape"), "shape");
  }

  private static HostTensor json(InputStream body, DecodeBudget room) throws IOException {
    return switch (Json.read(body, p -> TensorJson.read(p, "", room))) {
      case TensorJson.Source.Inline(var tensor) -> tensor;
      case TensorJson.Source.Handle _ ->
          throw new Failure.Refused(
              Code.INVALID_TENSOR,
              "handle",
              "an upload needs dtype, shape and data or base64, not the handle of a resident tensor");
    };
  }
}
