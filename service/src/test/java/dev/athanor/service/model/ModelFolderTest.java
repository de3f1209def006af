package dev.athanor.service.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.models.onnx.proto.GraphProto;
import dev.athanor.models.onnx.proto.ModelProto;
import dev.athanor.models.onnx.proto.NodeProto;
import dev.athanor.models.onnx.proto.TensorProto;
import dev.athanor.models.onnx.proto.ValueInfoProto;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.tune.Planner;
import dev.athanor.ops.tune.TuningCache;
import dev.athanor.service.codec.ByteSource;
import dev.athanor.service.failure.Deadline;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.run.FakeDevice;
import dev.athanor.service.run.Rig;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.tensor.Tenant;
import dev.athanor.service.tensor.TensorSettings;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

/** Tests models that are kept in a folder, with a quota of three models. */
@ExtendWith(OutputCaptureExtension.class)
class ModelFolderTest {

  private static final Duration LEASE = Duration.ofMinutes(1);

  /** Elements of the weight of a model. */
  private static final int WIDTH = 100;

  private static final RequestContext LOCAL = RequestContext.OWN;

  @TempDir private Path folder;
  private final FakeDevice device = new FakeDevice();
  private Rig rig;
  private StoredModels models;
  private PreparedModels versions;

  @BeforeEach
  void open() {
    var planner = new Planner(device.capability(), TuningCache.open(folder.resolve("tuning.json")));
    var quota = new TensorSettings(12 * WIDTH, 100, LEASE, 0, LEASE);
    rig = new Rig(device, planner, 1, 16, quota);
    models = start();
    versions = new PreparedModels(models, rig.clock, rig.runner::run);
  }

  @AfterEach
  void close() {
    rig.close();
  }

  private Path dir() {
    return folder.resolve("models");
  }

  private StoredModels start() {
    var settings = new ModelSettings(dir().toString(), 2, 1);
    var started = new StoredModels(Catalogue.load(), rig.store, rig.transfers, settings);
    started.restore();
    return started;
  }

  /** Frees the memory of the models and starts again. */
  private void restart() {
    for (var tenant : List.of(Tenant.LOCAL, new Tenant(".lab"))) {
      rig.store
          .of(tenant)
          .list(100, null, null)
          .tensors()
          .forEach(info -> rig.store.of(tenant).delete(info.handle()));
    }
    models = start();
    versions = new PreparedModels(models, rig.clock, rig.runner::run);
  }

  private static byte[] file(float weight) {
    var tensor = TensorProto.newBuilder().setName("w").setDataType(1).addDims(WIDTH);
    for (int i = 0; i < WIDTH; i++) {
      tensor.addFloatData(weight);
    }
    var graph =
        GraphProto.newBuilder()
            .addInitializer(tensor)
            .addNode(NodeProto.newBuilder().setOpType("Identity").addInput("w").addOutput("y"))
            .addOutput(ValueInfoProto.newBuilder().setName("y"));
    return ModelProto.newBuilder().setGraph(graph).build().toByteArray();
  }

  private StoredModel put(String name, byte[] file, RequestContext context) throws IOException {
    var prepared = prepare(name, file, context);
    versions.store(prepared, List.of(), context);
    return prepared.model();
  }

  private PreparedModel prepare(String name, byte[] file, RequestContext context)
      throws IOException {
    return versions.prepare(models.id(context.tenant(), name), upload(file), 0, context);
  }

  private static ModelUpload upload(byte[] file) {
    var body = ByteSource.of(new ByteArrayInputStream(file));
    return new ModelUpload(body, ModelUpload.Format.ONNX, Long.MAX_VALUE, ExtentRanges.ANY, "");
  }

  private StoredModel put(String name, float weight) throws IOException {
    return put(name, file(weight), LOCAL);
  }

  private double weight(String name) {
    return models.get(Tenant.LOCAL, name).definition().weights().iterator().next().get(0);
  }

  private List<String> files() throws IOException {
    try (var paths = Files.walk(dir())) {
      return paths
          .filter(Files::isRegularFile)
          .map(path -> dir().relativize(path).toString())
          .sorted()
          .toList();
    }
  }

  @Test
  void restoresVersionsAndTheDefault() throws IOException {
    put("a", 1);
    var second = put("a", 2);
    assertThat(files())
        .containsExactly(
            "local/a/1/model.json",
            "local/a/1/model.onnx",
            "local/a/2/model.json",
            "local/a/2/model.onnx");
    rig.clock.advance(Duration.ofDays(1));
    restart();
    assertThat(models.get(Tenant.LOCAL, "a").version()).isEqualTo(2);
    assertThat(models.get(Tenant.LOCAL, "a").created()).isEqualTo(second.created());
    assertThat(weight("a")).isEqualTo(2);
    assertThat(rig.store.count()).isEqualTo(2);

    models.setDefault("a", 1, LOCAL);
    restart();
    assertThat(models.get(Tenant.LOCAL, "a").version()).isEqualTo(1);
    assertThat(models.versions(Tenant.LOCAL, "a")).containsExactly(1L, 2L);
    assertThat(put("a", 3).version()).isEqualTo(3);
    restart();
    assertThat(weight("a")).isEqualTo(3);
    assertThat(models.versions(Tenant.LOCAL, "a")).containsExactly(2L, 3L);
  }

  @Test
  void defaultIsTheNewestVersionWhicheverIsStoredLast() throws IOException {
    var second = prepare("a", file(1), LOCAL);
    var third = prepare("a", file(2), LOCAL);
    assertThat(models.list(Tenant.LOCAL)).as("not stored").isEmpty();
    versions.store(third, List.of("2", "3"), LOCAL);
    versions.store(second, List.of("2"), LOCAL);
    for (int i = 0; i < 2; i++) {
      var model = models.get(Tenant.LOCAL, "a");
      assertThat(model.version()).isEqualTo(2);
      assertThat(model.replicas()).containsExactly("2", "3");
      assertThat(models.get(Tenant.LOCAL, "a@1").replicas()).isNull();
      restart();
    }
  }

  @Test
  void copiesForOtherReplicasWaitForTheirRequest() throws IOException {
    var id = models.id(Tenant.LOCAL, "a");
    versions.prepareCopy(id, upload(file(1)), 7, LOCAL);
    assertThat(versions.newest(id)).isEqualTo(7);
    assertThatThrownBy(() -> versions.prepareCopy(id, upload(file(1)), 7, LOCAL))
        .isInstanceOf(Failure.Refused.class)
        .hasMessage("another request stores version 7 of the model a; send the request again");
    versions.discardCopy(id, 7, LOCAL);
    assertThat(rig.store.count()).isZero();
    assertThat(versions.newest(id)).isZero();

    versions.prepareCopy(id, upload(file(1)), 7, LOCAL);
    versions.storeCopy(id, 7, List.of("1", "2"), LOCAL);
    versions.storeCopy(id, 7, List.of("1", "2"), LOCAL);
    assertThat(models.get(Tenant.LOCAL, "a").version()).isEqualTo(7);
    versions.discardCopy(id, 7, LOCAL);
    assertThat(rig.store.count()).as("stored, so not discarded").isEqualTo(1);

    versions.prepareCopy(id, upload(file(2)), 8, LOCAL);
    rig.clock.advance(Duration.ofMinutes(10).plusMillis(1));
    assertThat(versions.newest(id)).isEqualTo(7);
    assertThat(rig.store.count()).isEqualTo(1);
    assertThatThrownBy(() -> versions.storeCopy(id, 8, List.of("1", "2"), LOCAL))
        .hasMessage(
            "version 8 of the model a was not copied to this replica, or has been discarded since; send the request again");
    assertThat(files()).containsExactly("local/a/7/model.json", "local/a/7/model.onnx");
  }

  @Test
  void deletesFiles() throws IOException {
    put("a", 1);
    put("a", 2);
    models.delete("a@1", LOCAL);
    assertThat(files()).containsExactly("local/a/2/model.json", "local/a/2/model.onnx");
    models.delete("a", LOCAL);
    assertThat(files()).isEmpty();
    assertThat(rig.store.count()).isZero();
    restart();
    assertThat(models.list(Tenant.LOCAL)).isEmpty();
  }

  @Test
  void keepsTheModelsOfTenantsApart() throws IOException {
    var lab = new RequestContext(new Tenant(".lab"), Deadline.none());
    put("a", file(1), lab);
    assertThat(files()).containsExactly("%.lab/a/1/model.json", "%.lab/a/1/model.onnx");
    restart();
    assertThat(models.list(Tenant.LOCAL)).isEmpty();
    assertThat(models.list(lab.tenant())).hasSize(1);
  }

  @Test
  void leavesNothingOfARequestThatFails() throws IOException {
    put("a", 1);
    put("a", 2);
    put("b", 1);
    assertThatThrownBy(() -> put("a", 3)).isInstanceOf(Failure.Busy.class);
    assertThatThrownBy(() -> put("c", new byte[] {8, 7}, LOCAL))
        .isInstanceOf(Failure.Refused.class);
    assertThat(files()).hasSize(6);
    assertThat(rig.store.count()).isEqualTo(3);
    assertThat(weight("a")).isEqualTo(2);
  }

  /** A stop leaves temporary files only, which the next start deletes. */
  @Test
  void deletesWhatAStopLeft() throws IOException {
    Files.writeString(
        Files.createDirectories(dir().resolve(".temporary/x")).resolve("model.onnx"), "half");
    restart();
    assertThat(files()).isEmpty();
  }

  @Test
  void loadsFoldersThatAnOperatorFilled() throws IOException {
    var version = Files.createDirectories(dir().resolve("local/mine/7"));
    Files.write(version.resolve("any.onnx"), file(7));
    restart();
    assertThat(weight("mine@7")).isEqualTo(7);
    assertThat(put("mine", 8).version()).isEqualTo(8);
  }

  @Test
  void skipsDamagedModelsAndSaysWhy(CapturedOutput log) throws IOException {
    put("a", 1);
    put("a", 2);
    put("b", 3);
    Files.write(dir().resolve("local/a/2/model.onnx"), Arrays.copyOf(file(2), 100));
    Files.writeString(dir().resolve("local/b/1/model.json"), "{\"created\": \"now\"}");
    Files.createDirectories(dir().resolve("local/c d/1"));
    Files.createDirectories(dir().resolve("local/e/1"));
    restart();
    assertThat(weight("a")).isEqualTo(1);
    assertThat(models.list(Tenant.LOCAL)).hasSize(1);
    assertThat(log)
        .contains(
            "Cannot load version 2 of the model a of the tenant local: the file of 100 bytes is not an ONNX model: ",
            "Cannot load version 1 of the model b of the tenant local: model.json has no time \"created\"",
            "Cannot load version 1 of the model c d of the tenant local: the name is \"c d\"; a name has",
            "Cannot load version 1 of the model e of the tenant local: the files are not a model; there must be model.onnx, one other ONNX file, graph.json, or config.json at the top, got: ");
    assertThat(put("a", 3).version()).isEqualTo(3);
  }

  @Test
  void refusesAFolderThatCannotBeWritten() throws IOException {
    var file = Files.writeString(folder.resolve("file"), "");
    assertThatThrownBy(() -> new ModelFolder(file))
        .isInstanceOf(ModelFolder.Unusable.class)
        .hasMessageStartingWith(
            "cannot write the folder of models %s (athanor.models.dir): ".formatted(file));
  }
}
