package dev.athanor.service.rest;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.athanor.service.codec.Json;
import dev.athanor.service.device.ProcessorShares;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.http.HttpRequests;
import dev.athanor.service.http.PacedOutput;
import dev.athanor.service.http.Problems;
import dev.athanor.service.http.RestSettings;
import dev.athanor.service.metrics.Metrics;
import dev.athanor.service.rest.tensors.Media;
import dev.athanor.service.run.OpRunner;
import dev.athanor.service.session.Generation;
import dev.athanor.service.session.Generation.Event;
import dev.athanor.service.session.Generator;
import dev.athanor.service.session.Sessions;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;
import tools.jackson.core.JsonGenerator;

/** Generates tokens with models, in one answer or as server-sent events. */
@RestController
class GenerateController {

  private final Sessions sessions;
  private final Generator generator;
  private final Metrics metrics;
  private final RestSettings settings;

  GenerateController(
      Sessions sessions, Generator generator, Metrics metrics, RestSettings settings) {
    this.sessions = sessions;
    this.generator = generator;
    this.metrics = metrics;
    this.settings = settings;
  }

  @PostMapping("/models/{name}/generate")
  void generate(
      @PathVariable("name") String name, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    Outcomes.count(
        metrics,
        HttpRequests.tenant(request),
        OpRunner.PIPELINE,
        () -> {
          Media.ofBody(request, Media.JSON);
          boolean streams = Media.prefers(request, MediaType.TEXT_EVENT_STREAM);
          if (!streams) {
            Media.ofAnswer(request, Media.JSON);
          }
          HttpRequests.checkQuery(request, List.of());
          var context = HttpRequests.context(request);
          var asked = GenerateRequest.read(HttpRequests.body(request, settings.maxBodyBytes()));
          var generation =
              asked.session() == null
                  ? generator.generate(name, asked.generation(), context)
                  : generator.generate(
                      sessions.get(context.tenant(), name, asked.session()),
                      asked.generation(),
                      context);
          try {
            if (streams) {
              stream(generation, request, response);
            } else {
              answer(generation, response);
            }
          } finally {
            generation.cancel(); // no effect after its end
          }
        });
  }

  private static Event next(Generation generation) {
    ProcessorShares.release();
    try {
      return generation.next();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw Failure.clientGone();
    }
  }

  private static void answer(Generation generation, HttpServletResponse response)
      throws IOException {
    var tokens = new ArrayList<Long>();
    while (true) {
      switch (next(generation)) {
        case Event.Token(long token) -> tokens.add(token);
        case Event.Failed(var failure) -> throw failure;
        case Event.End(var reason) -> {
          response.setContentType(Media.JSON.text());
          try (var out = Json.write(PacedOutput.of(response))) {
            out.writeStartObject();
            out.writeName("tokens");
            out.writeStartArray();
            tokens.forEach(out::writeNumber);
            out.writeEndArray();
            end(out, generation, reason);
            out.writeEndObject();
          }
          return;
        }
      }
    }
  }

  private static void end(JsonGenerator out, Generation generation, String reason) {
    out.writeStringProperty("reason", reason);
    out.writeNumberProperty("seed", generation.seed());
    out.writeNumberProperty("length", generation.length());
  }

  /** Sends an event for each token, and one for the end or the failure. */
  private static void stream(
      Generation generation, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    response.setContentType(MediaType.TEXT_EVENT_STREAM_VALUE);
    response.setHeader("Cache-Control", "no-store");
    var body = PacedOutput.of(response);
    boolean ended = false;
    while (!ended) {
      switch (next(generation)) {
        case Event.Token(long token) ->
            send(
                body,
                "token",
                out -> object(out, json -> json.writeNumberProperty("token", token)));
        case Event.Failed(var failure) -> {
          send(body, "error", out -> Problems.write(request, failure, out));
          ended = true;
        }
        case Event.End(var reason) -> {
          send(body, "end", out -> object(out, json -> end(json, generation, reason)));
          ended = true;
        }
      }
    }
  }

  private static void object(OutputStream to, Consumer<JsonGenerator> members) {
    try (var out = Json.write(to)) {
      out.writeStartObject();
      members.accept(out);
      out.writeEndObject();
    }
  }

  private static void send(PacedOutput body, String event, Consumer<OutputStream> data)
      throws IOException {
    var text = new ByteArrayOutputStream();
    text.writeBytes("event: %s\ndata: ".formatted(event).getBytes(UTF_8));
    data.accept(text);
    text.writeBytes("\n\n".getBytes(UTF_8));
    body.write(text.toByteArray());
    body.flush();
  }
}
