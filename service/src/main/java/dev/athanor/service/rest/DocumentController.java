package dev.athanor.service.rest;

import java.nio.charset.StandardCharsets;
import org.springframework.core.io.ClassPathResource;
import org.springframework.core.io.Resource;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** Serves the document that describes this interface. */
@RestController
class DocumentController {

  private static final MediaType YAML =
      new MediaType("application", "yaml", StandardCharsets.UTF_8);

  @GetMapping("/openapi.yaml")
  ResponseEntity<Resource> openApi() {
    return ResponseEntity.ok().contentType(YAML).body(new ClassPathResource("openapi.yaml"));
  }
}
