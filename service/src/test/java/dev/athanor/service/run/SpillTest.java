package dev.athanor.service.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.device.DeviceException;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.tune.Planner;
import dev.athanor.ops.tune.TuningCache;
import dev.athanor.service.failure.Deadline;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.tensor.Tenant;
import dev.athanor.service.tensor.TenantTensors;
import dev.athanor.service.tensor.TensorOptions;
import dev.athanor.service.tensor.TensorSettings;
import dev.athanor.service.transfer.Transfers;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests spilling to the host, on a device with memory for two tensors. */
class SpillTest {

  private static final TensorType TYPE = TensorType.of(DType.U8, 1000);
  private static final RequestContext CONTEXT = new RequestContext(Tenant.LOCAL, Deadline.none());
  private static final Duration LEASE = Duration.ofMinutes(1);

  @TempDir private Path folder;
  private final FakeDevice device = new FakeDevice(0, 2 * TYPE.bytes());

  private Rig rig(long spillBytes) {
    var planner = new Planner(device.capability(), TuningCache.open(folder.resolve("tuning.json")));
    var settings = new TensorSettings(1 << 20, 100, LEASE, spillBytes, Duration.ofMinutes(10));
    return new Rig(device, planner, 1, 16, settings);
  }

  @AfterEach
  void freesAllHostMemory() {
    assertThat(device.openHostMemories()).isZero();
  }

  private static String create(Rig rig, int element) {
    var tensor = HostTensor.zeros(TYPE);
    tensor.data().fill((byte) element);
    rig.clock.advance(Duration.ofSeconds(1));
    return rig.create(tensor, TensorOptions.NONE, CONTEXT).handle();
  }

  private static int first(Transfers.Reader reader) {
    return reader.read(0, 1).get(ValueLayout.JAVA_BYTE, 0);
  }

  private static int read(Rig rig, String handle) {
    rig.clock.advance(Duration.ofSeconds(1));
    try (var reader = rig.transfers.open(handle, CONTEXT)) {
      return first(reader);
    }
  }

  private static void deleteAll(Rig rig) {
    var tensors = tensors(rig);
    tensors.list(100, null, null).tensors().forEach(info -> tensors.delete(info.handle()));
  }

  private static TenantTensors tensors(Rig rig) {
    return rig.store.of(Tenant.LOCAL);
  }

  @Test
  void fullDeviceRejectsTensorsWithoutSpilling() {
    try (var rig = rig(0)) {
      create(rig, 1);
      create(rig, 2);
      assertThatThrownBy(() -> create(rig, 3)).isInstanceOf(Failure.OutOfDeviceMemory.class);
    }
  }

  @Test
  void spillsTheLeastRecentlyUsedTensorAndRestoresItOnUse() {
    try (var rig = rig(2 * TYPE.bytes())) {
      var one = create(rig, 1);
      var two = create(rig, 2);
      assertThat(read(rig, one)).isEqualTo(1);
      create(rig, 3);
      assertThat(rig.store.spilled(rig.memory)).isEqualTo(TYPE.bytes());
      assertThat(rig.store.bytes(rig.memory)).isEqualTo(2 * TYPE.bytes());
      assertThat(rig.store.count(rig.memory)).isEqualTo(3);
      assertThat(read(rig, one)).isEqualTo(1);
      assertThat(device.hostMemoriesEver(TYPE.bytes()))
          .as("the first tensor was not spilled")
          .isEqualTo(1);
      assertThat(read(rig, two)).isEqualTo(2);
      assertThat(device.hostMemoriesEver(TYPE.bytes()))
          .as("the third tensor was spilled")
          .isEqualTo(2);
      assertThat(tensors(rig).describe(two).version()).isEqualTo(1);
      deleteAll(rig);
      assertThat(device.openBuffers()).isZero();
      assertThat(rig.store.spilled(rig.memory)).isZero();
      assertThat(rig.store.bytes(rig.memory)).isZero();
      assertThat(device.wasFreedDirty()).isFalse();
    }
  }

  @Test
  void doesNotSpillTensorsInUse() {
    try (var rig = rig(10 * TYPE.bytes())) {
      var one = create(rig, 1);
      var two = create(rig, 2);
      try (var reader = rig.transfers.open(one, CONTEXT);
          var other = rig.transfers.open(two, CONTEXT)) {
        assertThatThrownBy(() -> create(rig, 3)).isInstanceOf(Failure.OutOfDeviceMemory.class);
        assertThat(first(reader)).isEqualTo(1);
        assertThat(first(other)).isEqualTo(2);
      }
      create(rig, 3);
      var three = rig.transfers.open(one, CONTEXT);
      try (three;
          var other = rig.transfers.open(two, CONTEXT)) {
        assertThat(first(three) + first(other)).isEqualTo(3);
      }
      deleteAll(rig);
    }
  }

  @Test
  void limitsSpilledBytes() {
    try (var rig = rig(TYPE.bytes())) {
      create(rig, 1);
      create(rig, 2);
      create(rig, 3);
      assertThatThrownBy(() -> create(rig, 4)).isInstanceOf(Failure.OutOfDeviceMemory.class);
      assertThat(rig.store.count()).isEqualTo(3);
      deleteAll(rig);
    }
  }

  @Test
  void tensorStaysOnTheHostIfItCannotBeRestored() {
    try (var rig = rig(TYPE.bytes())) {
      var one = create(rig, 1);
      var two = create(rig, 2);
      var three = create(rig, 3);
      try (var reader = rig.transfers.open(two, CONTEXT);
          var other = rig.transfers.open(three, CONTEXT)) {
        assertThatThrownBy(() -> read(rig, one)).isInstanceOf(Failure.OutOfDeviceMemory.class);
        assertThat(first(reader) + first(other)).isEqualTo(5);
      }
      tensors(rig).delete(two);
      assertThat(read(rig, one)).isEqualTo(1);
      deleteAll(rig);
    }
  }

  @Test
  void leasesOfSpilledTensorsExpire() {
    try (var rig = rig(10 * TYPE.bytes())) {
      var one = create(rig, 1);
      var two = create(rig, 2);
      create(rig, 3);
      create(rig, 4);
      assertThat(device.openHostMemories(TYPE.bytes())).isEqualTo(2);
      tensors(rig).delete(one);
      assertThat(device.openHostMemories(TYPE.bytes())).isEqualTo(1);
      var expires = tensors(rig).describe(two).expiresAt();
      assertThat(expires)
          .as("spilling does not renew the lease")
          .isNotNull()
          .isBefore(rig.clock.instant().plus(LEASE));
      rig.clock.advance(LEASE);
      rig.store.sweep();
      assertThat(device.openBuffers()).isZero();
    }
  }

  @Test
  void faultWhileSpillingFailsOnlyTheRequest() {
    try (var rig = rig(10 * TYPE.bytes())) {
      var one = create(rig, 1);
      var two = create(rig, 2);
      device.failWith(new DeviceException.KernelFault("copy", List.of("by the test")));
      assertThatThrownBy(() -> create(rig, 3)).isInstanceOf(Failure.OutOfDeviceMemory.class);
      assertThat(device.openHostMemories(TYPE.bytes())).isZero();
      assertThat(read(rig, one) + read(rig, two)).isEqualTo(3);
      create(rig, 3);
      device.failWith(new DeviceException.KernelFault("copy", List.of("by the test")));
      assertThatThrownBy(() -> read(rig, one)).isInstanceOf(Failure.class);
      assertThat(read(rig, one)).isEqualTo(1);
      deleteAll(rig);
      assertThat(device.openBuffers()).isZero();
    }
  }
}
