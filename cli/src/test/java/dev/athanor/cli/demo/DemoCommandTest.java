package dev.athanor.cli.demo;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.cli.Athanor;
import dev.athanor.service.AthanorApplication;
import dev.athanor.testing.TestTier;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.web.server.LocalServerPort;

/** Runs {@code athanor demo} on the emulator. */
@SpringBootTest(
    classes = AthanorApplication.class,
    properties = {"athanor.device=emulator", "spring.grpc.server.port=0"},
    webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT)
@Tag(TestTier.THOROUGH_TAG)
class DemoCommandTest {

  private static final String SIZES = "demo --layers 1 --hidden 32 --tokens 4";

  @LocalServerPort int port;

  private static List<String> demo(String options) {
    var out = new StringWriter();
    var err = new StringWriter();
    int status =
        Athanor.commandLine()
            .setOut(new PrintWriter(out))
            .setErr(new PrintWriter(err))
            .execute((SIZES + options).split(" "));
    assertThat(status).as(err.toString()).isZero();
    return out.toString().lines().toList();
  }

  private static void checkReport(List<String> lines) {
    assertThat(lines)
        .startsWith(
            "Decoder in the layout of Llama: layers 1, hidden 32, vocabulary 256 bytes; on emulator:0")
        .contains(
            "Session 1  Once upon a time, ",
            "The weights are random: the text means nothing.",
            "With the same seeds, both runs generated the same tokens.")
        .anyMatch(line ->
            line.matches("First run, both at the same time: +8 tokens in \\S+ s, \\S+ tokens/s"))
        .anyMatch(line -> line.matches("attention-decode +1 +\\S+ +\\S+%"))
        .anyMatch(line -> line.matches("cache-append +2 +\\S+ +\\S+%"));
    assertThat(lines.getLast())
        .matches(
            "Memory: weights \\S+ \\S+; caches \\S+ \\S+, of which the sessions use \\S+ \\S+");
  }

  @Test
  void generatesWithARunningServiceAndLeavesNothing() {
    var url = "http://127.0.0.1:" + port;
    // other tests may use this service
    try (var athanor = dev.athanor.client.Athanor.connect(url)) {
      var models = athanor.models();
      var tensors = athanor.tensors();
      checkReport(demo(" --url " + url));
      assertThat(athanor.models()).hasSameSizeAs(models);
      assertThat(athanor.tensors()).hasSameSizeAs(tensors);
    }
  }

  @Test
  void startsAServiceOfItsOwn() {
    checkReport(demo(" --device emulator"));
  }
}
