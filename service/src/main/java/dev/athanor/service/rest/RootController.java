package dev.athanor.service.rest;

import dev.athanor.service.codec.Json;
import dev.athanor.service.http.HttpRequests;
import dev.athanor.service.rest.tensors.Media;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.List;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** Answers {@code GET /}: browsers are redirected to the console, other clients get an index. */
@RestController
class RootController {

  /** Entry points of the API. */
  private record Index(
      String name, String console, String openapi, String ops, String tensors, String ready) {}

  private static final Index INDEX =
      new Index("athanor", "/console/", "/openapi.yaml", "/ops", "/tensors", "/readyz");

  @GetMapping("/")
  void root(HttpServletRequest request, HttpServletResponse response) throws IOException {
    HttpRequests.checkQuery(request, List.of());
    response.setHeader(HttpHeaders.VARY, HttpHeaders.ACCEPT);
    if (Media.prefers(request, MediaType.TEXT_HTML)) {
      response.setStatus(HttpStatus.FOUND.value());
      response.setHeader(HttpHeaders.LOCATION, INDEX.console);
    } else {
      response.setContentType(Media.ofAnswer(request, Media.JSON).text());
      Json.writeValue(response.getOutputStream(), INDEX);
    }
  }
}
