package dev.athanor.service.replica;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.ops.DType;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.tune.Planner;
import dev.athanor.ops.tune.TuningCache;
import dev.athanor.service.codec.GgufFile;
import dev.athanor.service.codec.Safetensors;
import dev.athanor.service.run.FakeDevice;
import dev.athanor.service.run.Rig;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.tensor.Handles;
import dev.athanor.service.tensor.Tenant;
import dev.athanor.service.tensor.TenantTensors;
import dev.athanor.service.tensor.TensorSettings;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests loading weights on a device of 64 bytes, with a quota of 100 bytes. */
class WeightLoaderTest {

  private static final Duration LEASE = Duration.ofMinutes(1);

  @TempDir private Path folder;
  private final Handles handles = new Handles("lab-1", "");
  private final FakeDevice device = new FakeDevice(0, 64);
  private Rig rig;
  private WeightLoader loader;

  @BeforeEach
  void open() {
    var planner = new Planner(device.capability(), TuningCache.open(folder.resolve("tuning.json")));
    rig = new Rig(device, planner, 1, 16, new TensorSettings(100, 3, LEASE, 0, LEASE));
    var hosts = new ReplicaHosts(handles, InetAddress::getAllByName);
    var peers = new Peers(null, handles, new ListedReplicas(List.of(), hosts));
    loader = new WeightLoader(peers, handles, rig.store, rig.transfers);
  }

  @AfterEach
  void close() {
    rig.close();
  }

  private TenantTensors tensors() {
    return rig.store.of(Tenant.LOCAL);
  }

  private Path write(String name, byte[] bytes) throws IOException {
    return Files.write(folder.resolve(name), bytes);
  }

  /** Writes a safetensors file with one tensor. */
  private Path write(String file, String name, TensorType type, byte... data) throws IOException {
    var header = Safetensors.header(Map.of(name, type), Map.of()).orElseThrow();
    var bytes = Arrays.copyOf(header, header.length + data.length);
    System.arraycopy(data, 0, bytes, header.length, data.length);
    return write(file, bytes);
  }

  private void assertUnusable(String message) {
    assertThatThrownBy(() -> loader.load(folder))
        .isInstanceOf(WeightLoader.Unusable.class)
        .hasMessage(message);
  }

  private static TensorType u8(long bytes) {
    return TensorType.of(DType.U8, bytes);
  }

  @Test
  void storesTensorsUnderTheirNamesWithoutALease() throws IOException {
    write("a.safetensors", "layers.0.w", u8(3), new byte[] {1, 2, 3});
    write("b.gguf", new GgufFile(1, 0).tensor("blk.0.w", 24, 0, 2).with(new byte[] {4, 5}));
    write("README.md", new byte[1]);

    loader.load(folder);

    rig.clock.advance(Duration.ofDays(1));
    assertThat(tensors().describe("blk.0.w").type()).isEqualTo(TensorType.of(DType.I8, 2));
    var info = tensors().describe("layers.0.w");
    assertThat(info.expiresAt()).isNull();
    assertThat(info.replicas()).containsExactly("1");
    try (var reader = rig.transfers.open("layers.0.w", RequestContext.OWN)) {
      assertThat(reader.read(0, 3).toArray(ValueLayout.JAVA_BYTE)).containsExactly(1, 2, 3);
    }
    assertThat(rig.store.count()).isEqualTo(2);
  }

  @Test
  void otherTenantsDoNotSeeThem() throws IOException {
    write("a.safetensors", "w", u8(1), new byte[1]);
    loader.load(folder);
    assertThat(tensors().named().version("w")).isPresent();
    assertThat(rig.store.of(new Tenant("lab")).named().version("w")).isEmpty();
  }

  @Test
  void rejectsTensorsOfTheSameNameBeforeLoadingAny() throws IOException {
    var first = write("a.safetensors", "w", u8(1), new byte[1]);
    var second = write("b.gguf", new GgufFile(1, 0).tensor("w", 24, 0, 1).with(new byte[1]));
    assertUnusable(
        "both %s and %s have a tensor with the name w; remove one of the files"
            .formatted(first, second));
    assertThat(rig.store.count()).isZero();
  }

  @Test
  void namesTheFileThatIsMalformed() throws IOException {
    var file = write("a.gguf", new byte[100]);
    assertUnusable("cannot load %s: a GGUF file must begin with the letters GGUF".formatted(file));
    Files.delete(file);
    var empty = write("a.safetensors", new byte[0]);
    assertUnusable(
        "cannot load %s: not a safetensors file: it has fewer than 8 bytes".formatted(empty));
    write("a.safetensors", "w", u8(3), new byte[2]);
    assertUnusable(
        "cannot load %s: the file is truncated: w is u8[3] and needs 3 bytes of data, got 2"
            .formatted(empty));
    write("a.safetensors", "w", u8(3), new byte[4]);
    assertUnusable(
        "cannot load %s: unexpected bytes after the data of the last tensor".formatted(empty));
  }

  @Test
  void namesTheTensorThatDoesNotFit() throws IOException {
    var file = write("a.safetensors", "w", u8(65), new byte[65]);
    assertUnusable(
        "cannot load the tensor w of %s, u8[65]: it needs 65 bytes of device memory, and 64 are free"
            .formatted(file));
    write("a.safetensors", "w", u8(101), new byte[101]);
    assertUnusable(
        "cannot load the tensor w of %s, u8[101]: the quota of the tenant local is 100 bytes and 3 tensors; raise athanor.tensors.max-bytes or athanor.tensors.max-count"
            .formatted(file));
    assertThat(rig.store.count()).isZero();
    assertThat(device.openBuffers()).isZero();
  }

  @Test
  void namesTheTensorThatIsInvalid() throws IOException {
    var file = write("a.safetensors", "w", TensorType.of(DType.BOOL, 2), (byte) 1, (byte) 2);
    assertUnusable(
        "cannot load the tensor w of %s, bool[2]: byte 1 of a bool tensor is 2; it must be 0 or 1"
            .formatted(file));
    write("a.safetensors", "a/b", u8(1), new byte[1]);
    assertUnusable(
        "cannot load the tensor a/b of %s, u8[1]: the name is \"a/b\"; a name has 1 to 128 letters, digits, periods, hyphens and underscores, begins with a letter or a digit, and not with t_ as handles do"
            .formatted(file));
  }

  @Test
  void rejectsAFolderThatDoesNotExist() {
    var missing = folder.resolve("missing");
    assertThatThrownBy(() -> loader.load(missing))
        .hasMessage(
            "cannot read the weight folder %s; it must be a folder with .safetensors or .gguf files"
                .formatted(missing));
  }

  @Test
  void acceptsAnEmptyFolder() {
    loader.load(folder);
    assertThat(rig.store.count()).isZero();
  }
}
