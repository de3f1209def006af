package dev.athanor.service.rest.tensors;

import dev.athanor.service.codec.Json;
import dev.athanor.service.codec.Tensors;
import dev.athanor.service.device.DeviceHealth;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.http.HttpRequests;
import dev.athanor.service.http.RestSettings;
import dev.athanor.service.replica.ReplicatedTensors;
import dev.athanor.service.replica.ReplicatedTensors.Order;
import dev.athanor.service.replica.ReplicatedTensors.Precondition;
import dev.athanor.service.tensor.NamedTensors;
import dev.athanor.service.tensor.NamedTensors.Copy;
import dev.athanor.service.tensor.Names;
import dev.athanor.service.tensor.TensorStore;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PutMapping;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/** Stores tensors under names that clients choose. */
@RestController
class NamedTensorController {

  private final TensorStore store;
  private final TensorBodies bodies;
  private final ReplicatedTensors replicated;
  private final DeviceHealth health;
  private final RestSettings settings;

  NamedTensorController(
      TensorStore store,
      TensorBodies bodies,
      ReplicatedTensors replicated,
      DeviceHealth health,
      RestSettings settings) {
    this.store = store;
    this.bodies = bodies;
    this.replicated = replicated;
    this.health = health;
    this.settings = settings;
  }

  @PutMapping("/tensors/{handle}")
  void put(
      @PathVariable("handle") String name, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    Names.check(name);
    var media = Media.ofBody(request, TensorBodies.FORMATS);
    Media.ofAnswer(request, Media.JSON);
    TensorBodies.checkQuery(request, media, List.of("replicas", "ttlSeconds", "scope", "device"));
    var entry = HttpRequests.entry(request);
    var lease = HttpRequests.lease(request);
    var order =
        new Order(
            name,
            ReplicaRequests.copies(request, replicated.maxCopies(entry)),
            HttpRequests.label(request, "scope"),
            lease == null ? Duration.ZERO : lease,
            request.getParameter("device"),
            precondition(request, name));
    health.admit();
    var stored =
        replicated.store(
            entry,
            order,
            options ->
                bodies.create(
                    request,
                    media,
                    HttpRequests.body(request, settings.maxBodyBytes()),
                    options,
                    entry.context()));
    response.setHeader("Location", "/tensors/" + name);
    TensorAnswers.sendStored(
        response,
        stored.isNew() ? HttpServletResponse.SC_CREATED : HttpServletResponse.SC_OK,
        stored.info(),
        stored.unreachable());
  }

  private static @Nullable Precondition precondition(HttpServletRequest request, String name) {
    var ifMatch = request.getHeader("If-Match");
    var ifNoneMatch = request.getHeader("If-None-Match");
    if (ifNoneMatch != null && !ifNoneMatch.strip().equals("*")) {
      throw new Failure.Refused(
          Code.INVALID_ATTRIBUTE,
          "If-None-Match",
          "If-None-Match is %s; only * is supported, which stores the tensor if no other has the name"
              .formatted(Tensors.excerpt(ifNoneMatch)));
    }
    return ifMatch == null && ifNoneMatch == null
        ? null
        : new Precondition(
            ifMatch == null ? "If-None-Match" : "If-Match",
            version -> check(ifMatch, ifNoneMatch, name, version));
  }

  private static void check(
      @Nullable String ifMatch, @Nullable String ifNoneMatch, String name, OptionalLong version) {
    if (ifNoneMatch != null && version.isPresent()) {
      throw new Failure.Refused(
          Code.VERSION_MISMATCH,
          "If-None-Match",
          "If-None-Match is *, but version %d of a tensor is stored under the name %s"
              .formatted(version.getAsLong(), name));
    }
    if (ifMatch != null && (version.isEmpty() || !ETags.allows(ifMatch, version.getAsLong()))) {
      throw new Failure.Refused(
          Code.VERSION_MISMATCH,
          "If-Match",
          version.isEmpty()
              ? "If-Match is given, but no tensor is stored under the name %s".formatted(name)
              : "If-Match does not match version %d of the tensor %s; read the tensor again"
                  .formatted(version.getAsLong(), name));
    }
  }

  /**
   * What one replica tells another.
   *
   * @param handle null if the replica gets no copy, and drops an older one
   */
  private record Notice(@Nullable String handle, Copy copy) {}

  /** Replicas tell each other the names of the tensors that they have copied. */
  @PutMapping("/tensors/{handle}/copy")
  @ResponseStatus(HttpStatus.NO_CONTENT)
  void copy(@PathVariable("handle") String name, HttpServletRequest request) throws IOException {
    Names.check(name);
    Media.ofBody(request, Media.JSON);
    HttpRequests.checkQuery(request, List.of());
    ReplicaRequests.checkSender(request, "PUT /tensors/{name}");
    var notice =
        Json.read(
            HttpRequests.body(request, ReplicaRequests.LONGEST_MESSAGE),
            NamedTensorController::notice);
    var named = store.of(HttpRequests.tenant(request)).named();
    if (notice.handle == null) {
      named.remove(name, notice.copy.version());
    } else {
      named.put(name, notice.handle, notice.copy, _ -> {});
    }
  }

  private static Notice notice(JsonParser parser) {
    String handle = null;
    long version = 0;
    long seconds = 0;
    var replicas = List.<String>of();
    while (parser.nextToken() != JsonToken.END_OBJECT) {
      var key = parser.currentName();
      parser.nextToken();
      switch (key) {
        case "handle" -> handle = Json.string(parser, "handle", Code.INVALID_ATTRIBUTE);
        case "version" ->
            version = ReplicaRequests.integer(parser, key, 1, NamedTensors.GREATEST_VERSION);
        case "ttlSeconds" ->
            seconds = ReplicaRequests.integer(parser, key, 0, Tensors.LONGEST_LEASE_SECONDS);
        case "replicas" -> replicas = ReplicaRequests.replicas(parser);
        default ->
            throw Json.unknown("", key, List.of("handle", "version", "ttlSeconds", "replicas"));
      }
    }
    if (version == 0) {
      throw ReplicaRequests.versionMissing("orders the tensors stored under a name");
    }
    return new Notice(handle, new Copy(version, replicas, Duration.ofSeconds(seconds)));
  }
}
