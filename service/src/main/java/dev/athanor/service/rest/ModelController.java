package dev.athanor.service.rest;

import dev.athanor.service.codec.Json;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.http.HttpRequests;
import dev.athanor.service.openinference.Model;
import dev.athanor.service.openinference.Models;
import dev.athanor.service.openinference.ServedModel;
import dev.athanor.service.rest.tensors.Media;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.InputStream;
import java.io.PushbackInputStream;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/** Metadata, health and statistics endpoints of the Open Inference Protocol v2. */
@RestController
class ModelController {

  /** Maximum size of a repository index request in bytes. */
  private static final long MAX_FILTER_BYTES = 1024;

  private final Models models;

  ModelController(Models models) {
    this.models = models;
  }

  @GetMapping("/v2")
  void server(HttpServletRequest request, HttpServletResponse response) throws IOException {
    answer(
        new ModelViews.Server(Models.SERVER, models.version(), Models.EXTENSIONS),
        request,
        response);
  }

  @GetMapping("/v2/health/live")
  void live(HttpServletRequest request, HttpServletResponse response) throws IOException {
    answer(Map.of("live", true), request, response);
  }

  @GetMapping("/v2/health/ready")
  void ready(HttpServletRequest request, HttpServletResponse response) throws IOException {
    response.setStatus(readiness());
    answer(Map.of("ready", models.isReady()), request, response);
  }

  @GetMapping("/v2/models")
  void list(HttpServletRequest request, HttpServletResponse response) throws IOException {
    answer(
        Map.of(
            "models",
            models.all(HttpRequests.tenant(request)).stream().map(ServedModel::name).toList()),
        request,
        response);
  }

  @GetMapping({"/v2/models/{op}", "/v2/models/{op}/versions/{version}"})
  void describe(
      @PathVariable("op") String name,
      @PathVariable(name = "version", required = false) @Nullable String version,
      HttpServletRequest request,
      HttpServletResponse response)
      throws IOException {
    answer(ModelViews.Metadata.of(describe(request, name, version)), request, response);
  }

  @GetMapping({"/v2/models/{op}/ready", "/v2/models/{op}/versions/{version}/ready"})
  void ready(
      @PathVariable("op") String name,
      @PathVariable(name = "version", required = false) @Nullable String version,
      HttpServletRequest request,
      HttpServletResponse response)
      throws IOException {
    var model = models.find(HttpRequests.tenant(request), name, version);
    response.setStatus(readiness());
    answer(new ModelViews.Ready(model.name(), models.isReady()), request, response);
  }

  private Model describe(HttpServletRequest request, String name, @Nullable String version) {
    return models.find(HttpRequests.tenant(request), name, version).description();
  }

  private int readiness() {
    return models.isReady()
        ? HttpServletResponse.SC_OK
        : HttpServletResponse.SC_SERVICE_UNAVAILABLE;
  }

  @GetMapping({"/v2/models/{op}/config", "/v2/models/{op}/versions/{version}/config"})
  void config(
      @PathVariable("op") String name,
      @PathVariable(name = "version", required = false) @Nullable String version,
      HttpServletRequest request,
      HttpServletResponse response)
      throws IOException {
    answer(ModelViews.Config.of(describe(request, name, version)), request, response);
  }

  @GetMapping({"/v2/models/{op}/stats", "/v2/models/{op}/versions/{version}/stats"})
  void statistics(
      @PathVariable("op") String name,
      @PathVariable(name = "version", required = false) @Nullable String version,
      HttpServletRequest request,
      HttpServletResponse response)
      throws IOException {
    answer(
        ModelViews.AllStatistics.of(
            List.of(models.statistics(HttpRequests.tenant(request), name, version))),
        request,
        response);
  }

  @GetMapping("/v2/models/stats")
  void statistics(HttpServletRequest request, HttpServletResponse response) throws IOException {
    answer(
        ModelViews.AllStatistics.of(models.statistics(HttpRequests.tenant(request))),
        request,
        response);
  }

  @PostMapping("/v2/repository/index")
  void index(HttpServletRequest request, HttpServletResponse response) throws IOException {
    boolean readyOnly = readyOnly(HttpRequests.body(request, MAX_FILTER_BYTES));
    answer(models.index(HttpRequests.tenant(request), readyOnly), request, response);
  }

  /** Reads {@code {"ready": true}}; an empty body selects all models. */
  private static boolean readyOnly(InputStream body) throws IOException {
    var ahead = new PushbackInputStream(body);
    int first = ahead.read();
    if (first < 0) {
      return false;
    }
    ahead.unread(first);
    return Json.read(ahead, ModelController::readyOnly);
  }

  private static boolean readyOnly(JsonParser parser) {
    boolean ready = false;
    while (parser.nextToken() != JsonToken.END_OBJECT) {
      if (!parser.currentName().equals("ready")) {
        throw Json.unknown("", parser.currentName(), List.of("ready"));
      }
      ready =
          switch (parser.nextToken()) {
            case VALUE_TRUE -> true;
            case VALUE_FALSE -> false;
            default ->
                throw new Failure.Refused(
                    Code.INVALID_ATTRIBUTE, "ready", "ready must be true or false");
          };
    }
    return ready;
  }

  private static void answer(Object value, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    HttpRequests.checkNoQuery(request);
    Media.ofAnswer(request, Media.JSON);
    response.setContentType(Media.JSON.text());
    Json.writeValue(response.getOutputStream(), value);
  }
}
