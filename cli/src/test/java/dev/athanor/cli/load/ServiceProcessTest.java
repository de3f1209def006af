package dev.athanor.cli.load;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ServiceProcessTest {

  /** The bundle has its native libraries in a folder that only this property names. */
  @Test
  void serviceLoadsNativeLibrariesFromTheSameFolders() {
    assertThat(ServiceProcess.command("cuda"))
        .contains("-Djava.library.path=" + System.getProperty("java.library.path"))
        .containsSubsequence("serve", "--device", "cuda");
  }
}
