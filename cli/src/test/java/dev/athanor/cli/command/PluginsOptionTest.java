package dev.athanor.cli.command;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.cli.Athanor;
import dev.athanor.testing.TestTier;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests that commands reject unusable plugins in one sentence with status 2. */
class PluginsOptionTest {
  private static final String SERVICE = "META-INF/services/dev.athanor.ops.OpProvider";

  @TempDir private Path folder;

  private String sentence() throws IOException {
    try (var jar = new JarOutputStream(Files.newOutputStream(folder.resolve("broken.jar")))) {
      jar.putNextEntry(new JarEntry(SERVICE));
      jar.write("com.example.Nobody".getBytes(StandardCharsets.UTF_8));
    }
    return "plugins in %s: dev.athanor.ops.OpProvider: Provider com.example.Nobody not found; check the file %s%n"
        .formatted(folder, SERVICE);
  }

  private static CommandResult athanor(String... arguments) {
    return CommandResult.of(Athanor.commandLine(), arguments);
  }

  @Test
  void opsRejectsABrokenJar() throws IOException {
    var sentence = sentence();
    var run = athanor("ops", "--plugins", folder.toString());
    assertThat(run.status()).isEqualTo(2);
    assertThat(run.err()).isEqualTo("athanor ops: --plugins: " + sentence);
  }

  @Test
  @Tag(TestTier.THOROUGH_TAG)
  void serveRejectsABrokenJar() throws IOException {
    var sentence = sentence();
    var run =
        athanor(
            "serve",
            "--plugins",
            folder.toString(),
            "--port",
            "0",
            "--grpc-port",
            "0",
            "--device",
            "emulator");
    assertThat(run.status()).isEqualTo(2);
    assertThat(run.err()).isEqualTo("athanor serve: " + sentence);
  }
}
