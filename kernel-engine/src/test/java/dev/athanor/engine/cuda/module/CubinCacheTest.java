package dev.athanor.engine.cuda.module;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.common.jimfs.Configuration;
import com.google.common.jimfs.Jimfs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CubinCacheTest {

  private static final String KEY = CubinCache.key("ret;", "sm_90a", "12.8");

  @Test
  void keyDependsOnTextTargetAndDriver() {
    assertThat(KEY).matches("[0-9a-f]{64}").isEqualTo(CubinCache.key("ret;", "sm_90a", "12.8"));
    assertThat(
            Stream.of(
                CubinCache.key("ret; ", "sm_90a", "12.8"),
                CubinCache.key("ret;", "sm_90", "12.8"),
                CubinCache.key("ret;", "sm_90a", "12.9"),
                // the same characters, split elsewhere
                CubinCache.key("ret;s", "m_90a", "12.8"),
                CubinCache.key("ret;", "sm_90a1", "2.8")))
        .doesNotHaveDuplicates()
        .doesNotContain(KEY);
  }

  @Test
  void findsCodeUnlessItIsCorrupt(@TempDir Path directory) throws IOException {
    var cache = new CubinCache(directory);
    assertThat(cache.get(KEY)).isEmpty();
    cache.put(KEY, new byte[] {1, 2, 3});
    assertThat(cache.get(KEY)).hasValue(new byte[] {1, 2, 3});
    assertThat(cache.get(CubinCache.key("ret;", "sm_90a", "12.9"))).isEmpty();
    var file = directory.resolve(KEY + ".cubin");
    var bytes = Files.readAllBytes(file);
    bytes[bytes.length - 1] ^= 1;
    Files.write(file, bytes);
    assertThat(cache.get(KEY)).isEmpty();
    cache.put(KEY, new byte[] {4});
    assertThat(cache.get(KEY)).hasValue(new byte[] {4});
  }

  @Test
  void worksWithoutPosixPermissions() throws IOException {
    try (var windows = Jimfs.newFileSystem(Configuration.windows())) {
      var cache = new CubinCache(windows.getPath("C:\\Users\\me\\.cache\\athanor\\cubin"));
      cache.put(KEY, new byte[] {1});
      cache.put(KEY, new byte[] {2});
      assertThat(cache.get(KEY)).hasValue(new byte[] {2});
    }
  }

  @Test
  void onlyTheOwnerMayEnterTheDirectory(@TempDir Path parent) throws IOException {
    var directory = parent.resolve("cubin");
    new CubinCache(directory).put(KEY, new byte[] {1});
    assertThat(Files.getPosixFilePermissions(directory))
        .isEqualTo(PosixFilePermissions.fromString("rwx------"));
  }

  /** As on a full disk: kernels are recompiled. */
  @Test
  void ignoresFailedWrites(@TempDir Path directory) throws IOException {
    var cache = new CubinCache(Files.createFile(directory.resolve("file")).resolve("cache"));
    cache.put(KEY, new byte[] {1});
    assertThat(cache.get(KEY)).isEmpty();
  }
}
