package dev.athanor.service.rest.tensors;

import dev.athanor.service.codec.DecodeBudget;
import dev.athanor.service.codec.Digested;
import dev.athanor.service.codec.Json;
import dev.athanor.service.codec.Tensors;
import dev.athanor.service.device.DeviceHealth;
import dev.athanor.service.device.InlineMemory;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.http.HttpRequests;
import dev.athanor.service.http.RestSettings;
import dev.athanor.service.replica.ReplicatedTensors;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.tensor.IdempotencyKeys;
import dev.athanor.service.tensor.IdempotencyKeys.Creation;
import dev.athanor.service.tensor.Names;
import dev.athanor.service.tensor.TenantTensors;
import dev.athanor.service.tensor.TensorInfo;
import dev.athanor.service.tensor.TensorOptions;
import dev.athanor.service.tensor.TensorStore;
import dev.athanor.service.transfer.Transfers;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.DeleteMapping;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PatchMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.PutMapping;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RequestMethod;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/**
 * Endpoints for resident tensors. {@link TensorDataController} reads their contents, {@link
 * NamedTensorController} stores them by name.
 */
@RestController
class TensorController {

  private static final int PAGE = 100;
  private static final int MAX_PAGE = 1000;

  private final TensorStore store;
  private final TensorBodies bodies;
  private final Transfers transfers;
  private final ReplicatedTensors replicated;
  private final IdempotencyKeys<String> keys;
  private final DeviceHealth health;
  private final RestSettings settings;
  private final InlineMemory inline;

  TensorController(
      TensorStore store,
      TensorBodies bodies,
      Transfers transfers,
      ReplicatedTensors replicated,
      IdempotencyKeys<String> keys,
      DeviceHealth health,
      RestSettings settings,
      InlineMemory inline) {
    this.store = store;
    this.bodies = bodies;
    this.transfers = transfers;
    this.replicated = replicated;
    this.keys = keys;
    this.health = health;
    this.settings = settings;
    this.inline = inline;
  }

  @PostMapping("/tensors")
  void create(HttpServletRequest request, HttpServletResponse response) throws IOException {
    var media = Media.ofBody(request, TensorBodies.FORMATS);
    boolean plain = Media.prefers(request, MediaType.TEXT_PLAIN);
    if (!plain) {
      Media.ofAnswer(request, Media.JSON);
    }
    TensorBodies.checkQuery(request, media, List.of("ttlSeconds", "name", "scope", "device"));
    var terms = HttpRequests.context(request);
    var options =
        new TensorOptions(
            HttpRequests.label(request, "name"),
            HttpRequests.label(request, "scope"),
            HttpRequests.lease(request),
            request.getParameter("device"));
    health.admit();
    var key = request.getHeader(HttpRequests.IDEMPOTENCY_KEY);
    TensorInfo info;
    if (key == null) {
      var body = HttpRequests.body(request, settings.maxBodyBytes());
      info = bodies.create(request, media, body, options, terms);
    } else {
      info = createOnce(key, request, media, options, terms);
    }
    response.setHeader("Location", "/tensors/" + info.handle());
    if (plain) {
      TensorAnswers.sendHandle(response, HttpServletResponse.SC_CREATED, info);
    } else {
      TensorAnswers.send(response, HttpServletResponse.SC_CREATED, info);
    }
  }

  private TenantTensors tensors(HttpServletRequest request) {
    return store.of(HttpRequests.tenant(request));
  }

  private TensorInfo createOnce(
      String key,
      HttpServletRequest request,
      Media media,
      TensorOptions options,
      RequestContext terms)
      throws IOException {
    var body = new Digested(HttpRequests.body(request, settings.maxBodyBytes()));
    var created = new TensorInfo[1];
    try {
      var handle =
          keys.once(
              terms.tenant(),
              HttpRequests.IDEMPOTENCY_KEY,
              key,
              terms.deadline(),
              () -> {
                try {
                  created[0] = bodies.create(request, media, body, options, terms);
                } catch (IOException e) {
                  throw new UncheckedIOException(e);
                }
                return new Creation<>(created[0].handle(), fingerprint(request, media, body));
              },
              () -> {
                try {
                  body.drain();
                } catch (IOException e) {
                  throw new UncheckedIOException(e);
                }
                return fingerprint(request, media, body);
              });
      return created[0] == null ? store.of(terms.tenant()).describe(handle) : created[0];
    } catch (UncheckedIOException e) {
      throw e.getCause();
    }
  }

  private static String fingerprint(HttpServletRequest request, Media media, Digested body) {
    return media + "?" + request.getQueryString() + "#" + body.sha256();
  }

  @GetMapping("/tensors")
  void list(HttpServletRequest request, HttpServletResponse response) throws IOException {
    Media.ofAnswer(request, Media.JSON);
    HttpRequests.checkQuery(request, List.of("limit", "after", "scope"));
    int limit = (int) HttpRequests.number(request, "limit", 1, MAX_PAGE, PAGE);
    var page =
        tensors(request)
            .list(limit, request.getParameter("after"), HttpRequests.label(request, "scope"));
    response.setContentType(Media.JSON.text());
    try (var out = Json.write(response.getOutputStream())) {
      out.writeStartObject();
      out.writeName("tensors");
      out.writeStartArray();
      page.tensors().forEach(info -> TensorAnswers.write(out, info));
      out.writeEndArray();
      if (page.next() == null) {
        out.writeNullProperty("next");
      } else {
        out.writeStringProperty("next", page.next());
      }
      out.writeEndObject();
    }
  }

  @DeleteMapping("/tensors")
  @ResponseStatus(HttpStatus.NO_CONTENT)
  void deleteScope(HttpServletRequest request) {
    HttpRequests.checkQuery(request, List.of("scope"));
    var scope = HttpRequests.label(request, "scope");
    if (scope == null) {
      throw new Failure.Refused(
          Code.INVALID_ATTRIBUTE, "scope", "scope is missing; DELETE /tensors?scope=… takes one");
    }
    tensors(request).deleteScope(scope);
  }

  @RequestMapping(
      path = "/tensors/{handle}",
      method = {RequestMethod.GET, RequestMethod.HEAD})
  void describe(
      @PathVariable("handle") String handle,
      HttpServletRequest request,
      HttpServletResponse response)
      throws IOException {
    Media.ofAnswer(request, Media.JSON);
    HttpRequests.checkQuery(request, List.of());
    var info = tensors(request).describe(handle);
    if (!ETags.allows(request.getHeader("If-Match"), info.version())) {
      throw Transfers.mismatch(info.version());
    }
    // only the lease may differ from what the client has
    if (ETags.has(request.getHeader("If-None-Match"), info.version(), Media.OCTET_STREAM)) {
      TensorAnswers.sendNotModified(response, info, Media.OCTET_STREAM);
      return;
    }
    TensorAnswers.send(response, HttpServletResponse.SC_OK, info);
  }

  @PatchMapping("/tensors/{handle}")
  void renew(
      @PathVariable("handle") String handle,
      HttpServletRequest request,
      HttpServletResponse response)
      throws IOException {
    Media.ofBody(request, Media.JSON);
    Media.ofAnswer(request, Media.JSON);
    HttpRequests.checkQuery(request, List.of());
    var lease =
        Json.read(HttpRequests.body(request, settings.maxBodyBytes()), TensorController::lease);
    var preconditions = Preconditions.of(request);
    TensorAnswers.send(
        response,
        HttpServletResponse.SC_OK,
        tensors(request).renew(handle, lease, preconditions::check));
  }

  private static Duration lease(JsonParser parser) {
    Duration lease = null;
    while (parser.nextToken() != JsonToken.END_OBJECT) {
      var key = parser.currentName();
      if (!key.equals("ttlSeconds")) {
        throw Json.unknown("", key, List.of("ttlSeconds"));
      }
      if (parser.nextToken() != JsonToken.VALUE_NUMBER_INT
          || parser.getNumberType() == JsonParser.NumberType.BIG_INTEGER
          || parser.getLongValue() < 0
          || parser.getLongValue() > Tensors.LONGEST_LEASE_SECONDS) {
        throw new Failure.Refused(
            Code.INVALID_ATTRIBUTE,
            "ttlSeconds",
            "ttlSeconds is %s; it must be an integer 0 to %d"
                .formatted(Json.excerpt(parser), Tensors.LONGEST_LEASE_SECONDS));
      }
      lease = Duration.ofSeconds(parser.getLongValue());
    }
    if (lease == null) {
      throw new Failure.Refused(
          Code.INVALID_ATTRIBUTE,
          "ttlSeconds",
          "ttlSeconds is missing; give the new lease in seconds");
    }
    return lease;
  }

  @PutMapping("/tensors/{handle}/data")
  void replace(
      @PathVariable("handle") String handle,
      HttpServletRequest request,
      HttpServletResponse response)
      throws IOException {
    var media = Media.ofBody(request, TensorBodies.FORMATS);
    Media.ofAnswer(request, Media.JSON);
    HttpRequests.checkQuery(request, List.of());
    var terms = HttpRequests.context(request);
    health.admit();
    var type = store.of(terms.tenant()).describe(handle).type();
    var body = HttpRequests.body(request, settings.maxBodyBytes());
    var preconditions = Preconditions.of(request);
    TensorInfo info;
    try (var memory = inline.open(HttpRequests.account(request))) {
      var room = new DecodeBudget(memory, settings.maxBodyBytes());
      var contents = bodies.elements(request, media, type, body, room);
      info =
          transfers.replace(
              handle,
              contents,
              version -> {
                preconditions.check(OptionalLong.of(version));
                return true;
              },
              terms);
    }
    TensorAnswers.send(response, HttpServletResponse.SC_OK, info);
  }

  @DeleteMapping("/tensors/{handle}")
  @ResponseStatus(HttpStatus.NO_CONTENT)
  void delete(@PathVariable("handle") String handle, HttpServletRequest request)
      throws IOException {
    HttpRequests.checkQuery(request, List.of());
    var preconditions = Preconditions.of(request);
    if (Names.isName(handle)) {
      replicated.delete(
          HttpRequests.entry(request),
          handle,
          preconditions.isEmpty() ? null : preconditions::check);
    } else {
      tensors(request).delete(handle, preconditions::check);
    }
  }
}
