package dev.athanor.cli.report;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.ops.check.Check;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class VerifyReportTest {

  @Test
  void printsAttributesAsTheCommandLineAcceptsThem() {
    var attributes =
        new TreeMap<String, Object>(
            Map.of("axes", List.of(0L, 2L), "axis", -1.0, "constants", List.of()));
    attributes.put("expression", "x0 + c0");
    var failed =
        new VerifyReport.Failed(
            "map",
            "map-f32",
            1,
            Map.of("x0", "f32[2]"),
            attributes,
            Check.Kind.WRONG,
            "wrong",
            2,
            1,
            "athanor verify");
    assertThat(failed.lines())
        .contains(
            "  inputs x0=f32[2], attributes axes=0,2 axis=-1 constants=\"\" expression=\"x0 + c0\"");
  }
}
