package dev.athanor.service.rest;

import dev.athanor.service.codec.Json;
import dev.athanor.service.http.HttpRequests;
import dev.athanor.service.rest.tensors.Media;
import dev.athanor.service.session.Session;
import dev.athanor.service.session.SessionRuns;
import dev.athanor.service.session.Sessions;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.DeleteMapping;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;

/** Begins, copies and ends sessions of models. */
@RestController
class SessionController {

  private final Sessions sessions;
  private final SessionRuns runs;

  SessionController(Sessions sessions, SessionRuns runs) {
    this.sessions = sessions;
    this.runs = runs;
  }

  /** A session in answers. */
  record View(
      String session,
      String model,
      long version,
      int length,
      long bytes,
      @Nullable String expiresAt) {
    static View of(Session session) {
      var summary = session.summary();
      return new View(
          summary.session(),
          summary.model(),
          summary.version(),
          summary.length(),
          summary.bytes(),
          summary.expiresAt() == null ? null : summary.expiresAt().toString());
    }
  }

  @PostMapping("/models/{name}/sessions")
  void create(
      @PathVariable("name") String name, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    Media.ofAnswer(request, Media.JSON);
    HttpRequests.checkQuery(request, List.of("ttlSeconds"));
    var lease = Objects.requireNonNullElse(HttpRequests.lease(request), Sessions.LEASE);
    created(name, sessions.create(name, lease, HttpRequests.context(request)), response);
  }

  @PostMapping("/models/{name}/sessions/{session}/fork")
  void fork(
      @PathVariable("name") String name,
      @PathVariable("session") String id,
      HttpServletRequest request,
      HttpServletResponse response)
      throws IOException {
    Media.ofAnswer(request, Media.JSON);
    HttpRequests.checkQuery(request, List.of());
    var session = sessions.get(HttpRequests.tenant(request), name, id);
    created(name, runs.fork(session, HttpRequests.context(request)), response);
  }

  private static void created(String name, Session session, HttpServletResponse response)
      throws IOException {
    response.setStatus(HttpServletResponse.SC_CREATED);
    response.setHeader("Location", "/models/%s/sessions/%s".formatted(name, session.id()));
    answer(View.of(session), response);
  }

  @GetMapping("/models/{name}/sessions")
  void list(
      @PathVariable("name") String name, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    Media.ofAnswer(request, Media.JSON);
    HttpRequests.checkQuery(request, List.of());
    var views =
        sessions.list(HttpRequests.tenant(request), name).stream()
            .map(View::of)
            .sorted(Comparator.comparing(View::session))
            .toList();
    answer(Map.of("sessions", views), response);
  }

  @GetMapping("/models/{name}/sessions/{session}")
  void describe(
      @PathVariable("name") String name,
      @PathVariable("session") String id,
      HttpServletRequest request,
      HttpServletResponse response)
      throws IOException {
    Media.ofAnswer(request, Media.JSON);
    HttpRequests.checkQuery(request, List.of());
    answer(View.of(sessions.get(HttpRequests.tenant(request), name, id)), response);
  }

  @DeleteMapping("/models/{name}/sessions/{session}")
  @ResponseStatus(HttpStatus.NO_CONTENT)
  void delete(
      @PathVariable("name") String name,
      @PathVariable("session") String id,
      HttpServletRequest request) {
    HttpRequests.checkQuery(request, List.of());
    sessions.delete(sessions.get(HttpRequests.tenant(request), name, id));
  }

  private static void answer(Object value, HttpServletResponse response) throws IOException {
    response.setContentType(Media.JSON.text());
    Json.writeValue(response.getOutputStream(), value);
  }
}
