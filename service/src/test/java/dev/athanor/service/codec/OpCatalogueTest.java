package dev.athanor.service.codec;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.ops.Catalogue;
import dev.athanor.ops.Op;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.MapperFeature;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.json.JsonMapper;

/**
 * Checks that {@code ops.json}, from which clients are generated, equals the response to {@code GET
 * /ops}. -Dbless updates it.
 */
class OpCatalogueTest {

  private static final Path DOCUMENT = Path.of("../api-spec/src/main/resources/ops.json");

  private static final JsonMapper MAPPER =
      JsonMapper.builder()
          .disable(MapperFeature.SORT_PROPERTIES_ALPHABETICALLY)
          .enable(SerializationFeature.INDENT_OUTPUT)
          .build();

  @Test
  void documentDescribesAllOps() throws IOException {
    var ops = OpView.Ops.of(Catalogue.load().all().stream().map(Op::description).toList());
    var text = MAPPER.writeValueAsString(ops) + "\n";
    if (System.getProperty("bless") != null) {
      Files.writeString(DOCUMENT, text);
    }
    assertThat(text.lines()).isEqualTo(Files.readString(DOCUMENT).lines().toList());
  }
}
