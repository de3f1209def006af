package dev.athanor.cli.command;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class StartupCacheTest {

  @TempDir Path folder;

  @Test
  void runsTheScriptOfTheLauncher() throws Exception {
    var script = folder.resolve("a script.sh");
    Files.writeString(
        script, "echo \"$* $ATHANOR_CACHE_ONLY\" >\"$0.out\"; echo; echo >&2; exit 5");
    assertThat(StartupCache.create(script).waitFor()).isEqualTo(5);
    assertThat(folder.resolve("a script.sh.out")).hasContent("serve --check true");
  }

  /** Windows finds the interpreter of batch files itself. */
  @Test
  void runsABatchFileDirectly() throws Exception {
    var script = folder.resolve("a script.cmd");
    Files.writeString(
        script, "#!/bin/sh\nexec test \"$* $ATHANOR_CACHE_ONLY\" = 'serve --check true'\n");
    assertThat(script.toFile().setExecutable(true)).isTrue();
    assertThat(StartupCache.create(script).waitFor()).isZero();
  }

  @Test
  void needsALauncher() {
    assertThat(StartupCache.script()).isEmpty();
  }
}
