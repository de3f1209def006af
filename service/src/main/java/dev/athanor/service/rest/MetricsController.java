package dev.athanor.service.rest;

import dev.athanor.service.http.HttpRequests;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import jakarta.servlet.http.HttpServletRequest;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/**
 * Serves metrics on the API port, for the console and for clients that cannot reach the management
 * port. Unlike there, callers always need the scope {@code metrics}.
 */
@RestController
class MetricsController {

  private static final MediaType TEXT =
      MediaType.parseMediaType("text/plain;version=0.0.4;charset=utf-8");

  private final PrometheusMeterRegistry registry;

  MetricsController(PrometheusMeterRegistry registry) {
    this.registry = registry;
  }

  @GetMapping("/metrics")
  ResponseEntity<byte[]> metrics(HttpServletRequest request) {
    HttpRequests.checkQuery(request, List.of());
    return ResponseEntity.ok()
        .contentType(TEXT)
        .body(registry.scrape(TEXT.toString()).getBytes(StandardCharsets.UTF_8));
  }
}
