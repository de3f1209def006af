package dev.athanor.service.rest.models;

import dev.athanor.service.codec.Json;
import dev.athanor.service.device.InlineMemory;
import dev.athanor.service.http.HttpRequests;
import dev.athanor.service.http.RestSettings;
import dev.athanor.service.model.ExtentRanges;
import dev.athanor.service.model.ModelUpload;
import dev.athanor.service.model.PreparedModels;
import dev.athanor.service.model.StoredModels;
import dev.athanor.service.rest.tensors.ReplicaRequests;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.List;
import java.util.Objects;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PutMapping;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/** Takes copies of models from other replicas. */
@RestController
class ModelCopyController {

  private static final String CLIENTS_SEND = "PUT /models/{name}";
  private static final String VERSION = "version";
  private static final String REPLICAS = "replicas";

  /** Versions have at most nine digits. */
  private static final long GREATEST_VERSION = 999_999_999;

  /** What a zip file adds to the files at most: 5 bytes for each 64 KiB, and their names. */
  private static final int ARCHIVE_BYTES = 1 << 20;

  private final StoredModels models;
  private final PreparedModels prepared;
  private final RestSettings settings;
  private final InlineMemory inline;

  ModelCopyController(
      StoredModels models, PreparedModels prepared, RestSettings settings, InlineMemory inline) {
    this.models = models;
    this.prepared = prepared;
    this.settings = settings;
    this.inline = inline;
  }

  /** Tells another replica the greatest version as an entity tag, so that the next is greater. */
  @GetMapping("/models/{name}/copy")
  @ResponseStatus(HttpStatus.NO_CONTENT)
  void newest(
      @PathVariable("name") String name, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    ReplicaRequests.checkSender(request, "GET /models/{name}");
    HttpRequests.checkQuery(request, List.of());
    var id = models.id(HttpRequests.tenant(request), name);
    response.setHeader("ETag", "\"%d\"".formatted(prepared.newest(id)));
  }

  /** Takes a copy, which no request sees before {@link #store}. */
  @PutMapping(path = "/models/{name}/copy", consumes = "application/zip")
  @ResponseStatus(HttpStatus.NO_CONTENT)
  void prepare(@PathVariable("name") String name, HttpServletRequest request) throws IOException {
    ReplicaRequests.checkSender(request, CLIENTS_SEND);
    HttpRequests.checkQuery(request, List.of(VERSION, ExtentRanges.FIELD, ModelUpload.BATCH));
    long version = HttpRequests.number(request, VERSION, 1, GREATEST_VERSION, 0);
    if (version == 0) {
      throw versionMissing();
    }
    var ranges = request.getParameter(ExtentRanges.FIELD);
    var extents = ranges == null ? ExtentRanges.ANY : ExtentRanges.parse(ranges);
    var batch = Objects.requireNonNullElse(request.getParameter(ModelUpload.BATCH), "");
    var id = models.id(HttpRequests.tenant(request), name);
    long limit = settings.maxBodyBytes();
    try (var memory = inline.open(HttpRequests.account(request));
        var body = HttpRequests.body(request, limit + limit / 1024 + ARCHIVE_BYTES)) {
      prepared.prepareCopy(
          id,
          new ModelUpload(body, ModelUpload.Format.ZIP, limit, extents, batch),
          version,
          HttpRequests.context(request, memory));
    }
  }

  private static RuntimeException versionMissing() {
    return ReplicaRequests.versionMissing("is the number of the copy on all replicas");
  }

  /**
   * What becomes of a copy.
   *
   * @param replicas the ids of the replicas with one; none to discard it
   */
  private record Notice(long version, List<String> replicas) {}

  /** Stores or discards a copy. */
  @PutMapping(path = "/models/{name}/copy", consumes = "application/json")
  @ResponseStatus(HttpStatus.NO_CONTENT)
  void store(@PathVariable("name") String name, HttpServletRequest request) throws IOException {
    ReplicaRequests.checkSender(request, CLIENTS_SEND);
    HttpRequests.checkQuery(request, List.of());
    var notice =
        Json.read(
            HttpRequests.body(request, ReplicaRequests.LONGEST_MESSAGE),
            ModelCopyController::notice);
    var context = HttpRequests.context(request);
    var id = models.id(context.tenant(), name);
    if (notice.replicas.isEmpty()) {
      prepared.discardCopy(id, notice.version, context);
    } else {
      prepared.storeCopy(id, notice.version, notice.replicas, context);
    }
  }

  private static Notice notice(JsonParser parser) {
    long version = 0;
    var replicas = List.<String>of();
    while (parser.nextToken() != JsonToken.END_OBJECT) {
      var key = parser.currentName();
      parser.nextToken();
      switch (key) {
        case VERSION -> version = ReplicaRequests.integer(parser, key, 1, GREATEST_VERSION);
        case REPLICAS -> replicas = ReplicaRequests.replicas(parser);
        default -> throw Json.unknown("", key, List.of(VERSION, REPLICAS));
      }
    }
    if (version == 0) {
      throw versionMissing();
    }
    return new Notice(version, replicas);
  }
}
