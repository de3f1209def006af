package dev.athanor.cli.debug;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.testing.TestTier;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.eclipse.lsp4j.debug.ContinueArguments;
import org.eclipse.lsp4j.debug.DisconnectArguments;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests {@code athanor debug} in a separate process. */
@Tag(TestTier.THOROUGH_TAG)
class DebugProcessTest {

  private static ProcessBuilder athanor(String... arguments) {
    var java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    var command =
        Stream.concat(
                Stream.of(
                    java,
                    "-XX:TieredStopAtLevel=1",
                    "-cp",
                    System.getProperty("java.class.path"),
                    "dev.athanor.cli.Athanor",
                    "debug"),
                Stream.of(arguments))
            .toList();
    return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD);
  }

  private static void session(DebugClient client) throws Exception {
    client.launch(
        Map.of(
            "program",
            "../examples/race.ptx",
            "block",
            64,
            "args",
            List.of("zeros:256"),
            "schedule",
            "random",
            "seed",
            3,
            "stopOnEntry",
            true));
    client.start();
    assertThat(client.stopped().getReason()).isEqualTo("entry");
    client.server.continue_(new ContinueArguments()).get();
    client.terminated();
  }

  @Test
  void servesOneSessionOnStandardInputAndOutput() throws Exception {
    var process = athanor().start();
    try {
      var client = new DebugClient(process.getInputStream(), process.getOutputStream());
      session(client);
      client.server.disconnect(new DisconnectArguments()).get();
      process.getOutputStream().close();
      assertThat(process.waitFor()).isZero();
    } finally {
      process.destroyForcibly();
    }
  }

  @Test
  void servesSessionsOnAPort() throws Exception {
    var process = athanor("--port", "0").start();
    try {
      var line = process.inputReader().readLine();
      assertThat(line).matches("Listening for debug clients on 127\\.0\\.0\\.1:\\d+");
      int port = Integer.parseInt(line.replaceFirst(".*:", ""));
      for (int i = 0; i < 2; i++) {
        try (var socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
          session(new DebugClient(socket.getInputStream(), socket.getOutputStream()));
        }
      }
      assertThat(process.isAlive()).isTrue();
    } finally {
      process.destroyForcibly();
    }
  }
}
