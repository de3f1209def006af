package dev.athanor.service.rest;

import dev.athanor.ops.Catalogue;
import dev.athanor.ops.Op;
import dev.athanor.service.security.Callers;
import dev.athanor.service.security.Rules;
import java.nio.charset.StandardCharsets;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** Serves the document that describes this interface. */
@RestController
class DocumentController {

  private static final MediaType YAML =
      new MediaType("application", "yaml", StandardCharsets.UTF_8);

  private final byte[] document;

  DocumentController(Catalogue catalogue, Rules rules, Callers callers) {
    document =
        OpenApiDocument.of(
                catalogue.all().stream().map(Op::description).toList(), rules, callers.schemes())
            .getBytes(StandardCharsets.UTF_8);
  }

  @GetMapping("/openapi.yaml")
  ResponseEntity<byte[]> openApi() {
    return ResponseEntity.ok().contentType(YAML).body(document);
  }
}
