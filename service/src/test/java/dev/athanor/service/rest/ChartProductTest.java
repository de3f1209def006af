package dev.athanor.service.rest;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.service.AthanorApplication;
import dev.athanor.testing.Programs;
import dev.athanor.testing.TestTier;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.web.server.LocalServerPort;

/** Runs the script of {@code helm test} against the service. Shares a context with other tests. */
@SpringBootTest(
    classes = AthanorApplication.class,
    properties = "athanor.device=emulator",
    webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT)
@Tag(TestTier.THOROUGH_TAG)
class ChartProductTest {

  private static final Path SCRIPT = Path.of("../helm/athanor/files/test-product.sh");

  @LocalServerPort int port;

  @Test
  void servicePassesTheTestOfTheChart() throws Exception {
    Programs.require("curl", "apt-get install curl");
    var builder = new ProcessBuilder("sh", SCRIPT.toString()).redirectErrorStream(true);
    builder.environment().put("URL", "http://127.0.0.1:" + port);
    builder.environment().put("MODE", "none");
    builder.environment().put("no_proxy", "127.0.0.1");
    var process = builder.start();
    var output = new String(process.getInputStream().readAllBytes(), UTF_8);
    assertThat(output).contains("The product is right.");
    assertThat(process.waitFor()).isZero();
  }
}
