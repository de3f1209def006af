package dev.athanor.service.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.type;

import dev.athanor.engine.device.DeviceException;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.tune.Planner;
import dev.athanor.ops.tune.TuningCache;
import dev.athanor.service.failure.Deadline;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.run.Call.Destination;
import dev.athanor.service.run.Call.Input;
import dev.athanor.service.run.Call.Target;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.tensor.Tenant;
import dev.athanor.service.tensor.TensorInfo;
import dev.athanor.service.tensor.TensorOptions;
import dev.athanor.service.tensor.TensorSettings;
import dev.athanor.testing.TestTier;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the placement of tensors and jobs on two devices. */
@Tag(TestTier.THOROUGH_TAG)
class SeveralDevicesTest {

  private static final int MIB = 1 << 20;
  private static final long MEMORY = 64 * MIB;

  @TempDir private Path folder;
  private final FakeDevice first = new FakeDevice(0, MEMORY);
  private final FakeDevice second = new FakeDevice(1, MEMORY);
  private final ExecutorService clients = Executors.newVirtualThreadPerTaskExecutor();
  private Rig rig;

  @BeforeEach
  void open() {
    var planner = new Planner(first.capability(), TuningCache.open(folder.resolve("tuning.json")));
    rig =
        new Rig(
            List.of(first, second),
            planner,
            1,
            16,
            new TensorSettings(1 << 30, 100, Duration.ofHours(1), 0, Duration.ofMinutes(1)));
  }

  @AfterEach
  void zeroesFreedMemory() {
    clients.close();
    rig.close();
    // memory of a lost device need not be zeroed
    assertThat(first.wasFreedDirty() && !rig.health.isLost(0)).isFalse();
    assertThat(second.wasFreedDirty() && !rig.health.isLost(1)).isFalse();
  }

  private static RequestContext context(String tenant) {
    return new RequestContext(new Tenant(tenant), Deadline.none());
  }

  private static RequestContext context() {
    return context("a");
  }

  private TensorInfo create(@Nullable String device, double... elements) {
    return create(
        context(), device, HostTensor.of(TensorType.of(DType.F32, elements.length), elements));
  }

  private TensorInfo create(RequestContext context, @Nullable String device, HostTensor tensor) {
    return rig.create(tensor, new TensorOptions(null, null, null, device), context);
  }

  private static Call concat(String a, String b, Target c) {
    return new Call(
        new TestOps.Concat(),
        Map.of("a", new Input.Resident(a), "b", new Input.Resident(b)),
        Map.of(),
        Map.of("c", c),
        null,
        context());
  }

  private static Call identity(Input x, Target y) {
    return new Call(new TestOps.Identity(), Map.of("x", x), Map.of(), Map.of("y", y), context());
  }

  private static Target into(TensorInfo tensor) {
    return new Target(new Destination.Into(tensor.handle()), null);
  }

  private static final Target KEEP = new Target(new Destination.Keep(), null);

  private static Input inline(double... elements) {
    return new Input.Inline(HostTensor.of(TensorType.of(DType.F32, elements.length), elements));
  }

  private static double[] inline(Result result, String name) {
    var output = (Result.Output.Inline) Objects.requireNonNull(result.outputs().get(name));
    return output.tensor().toDoubles();
  }

  private static TensorInfo kept(Result result, String name) {
    var output = (Result.Output.Resident) Objects.requireNonNull(result.outputs().get(name));
    return output.info();
  }

  @Test
  void placesTensorsOfATenantTogether() {
    var one = create("fake:1", 1, 2);
    assertThat(one.device()).isEqualTo("fake:1");
    assertThat(create(null, 3).device()).isEqualTo("fake:1");
    var defaultTarget = create(context("b"), null, HostTensor.of(TensorType.of(DType.F32, 1), 1));
    assertThat(defaultTarget.device()).as("device with more free memory").isEqualTo("fake:0");
    rig.store.of(new Tenant("a")).deleteScope("none");
    assertThat(first.openBuffers()).isEqualTo(1);
    assertThat(second.openBuffers()).isEqualTo(2);
  }

  @Test
  void placesTensorsOnTheNextDeviceIfTheFirstIsFull() {
    var large = HostTensor.zeros(TensorType.of(DType.U8, 40 * MIB));
    assertThat(create(context(), null, large).device()).isEqualTo("fake:0");
    assertThat(create(context(), null, large).device()).isEqualTo("fake:1");
    assertThatThrownBy(() -> create(context(), null, large))
        .isInstanceOf(Failure.OutOfDeviceMemory.class);
    assertThatThrownBy(() -> create(context(), "fake:1", large))
        .isInstanceOf(Failure.OutOfDeviceMemory.class);
    assertThat(rig.store.count()).as("rejected tensors are not charged").isEqualTo(2);
  }

  @Test
  void rejectsUnknownDevices() {
    assertThatThrownBy(() -> create("cuda:7", 1))
        .isInstanceOfSatisfying(
            Failure.Refused.class,
            e -> {
              assertThat(e.code()).isEqualTo(Code.INVALID_ATTRIBUTE);
              assertThat(e.field()).isEqualTo("device");
            })
        .hasMessage("device is \"cuda:7\"; it must be one of fake:0, fake:1");
    assertThat(rig.store.count()).isZero();
  }

  @Test
  void runsJobsWhereTheirTensorsAre() {
    var a = create("fake:1", 1, 2);
    var b = create("fake:1", 3);
    var result = rig.runner.run(concat(a.handle(), b.handle(), KEEP));
    assertThat(result.device()).isEqualTo("fake:1");
    assertThat(kept(result, "c").device()).isEqualTo("fake:1");
    var read =
        rig.runner.run(identity(new Input.Resident(kept(result, "c").handle()), Target.INLINE));
    assertThat(inline(read, "y")).containsExactly(1, 2, 3);
    assertThat(first.openBuffers()).isZero();
  }

  @Test
  void copiesTensorsToTheDeviceWithMostBytes() {
    var a = create("fake:0", 1);
    var b = create("fake:1", 2, 3);
    var result = rig.runner.run(concat(a.handle(), b.handle(), Target.INLINE));
    assertThat(result.device()).isEqualTo("fake:1");
    assertThat(inline(result, "c")).containsExactly(1, 2, 3);
    assertThat(first.openBuffers()).isEqualTo(1);
    assertThat(second.openBuffers()).as("buffers without the copy").isEqualTo(1);
  }

  @Test
  void runsJobsWhereTheirOutputIs() {
    var a = create("fake:0", 1, 2, 3, 4);
    var b = create("fake:0", 5);
    var c = create("fake:1", 0, 0, 0, 0, 0);
    var result = rig.runner.run(concat(a.handle(), b.handle(), into(c)));
    assertThat(result.device()).isEqualTo("fake:1");
    var read = rig.runner.run(identity(new Input.Resident(c.handle()), Target.INLINE));
    assertThat(inline(read, "y")).containsExactly(1, 2, 3, 4, 5);
  }

  @Test
  void rejectsOutputsOnSeveralDevices() {
    var c = create("fake:0", 0, 0);
    var zeros = create("fake:1", 0, 0);
    var call =
        new Call(
            new TestOps.Concat(),
            Map.of("a", inline(1, 2)),
            Map.of(),
            Map.of("c", into(c), "zeros", into(zeros)),
            context());
    assertThatThrownBy(() -> rig.runner.run(call))
        .isInstanceOfSatisfying(
            Failure.Refused.class, e -> assertThat(e.code()).isEqualTo(Code.UNSUPPORTED_ON_DEVICE))
        .hasMessage(
            "the target tensors of outputs reside on fake:0, fake:1; they must all reside on one device");
  }

  @Test
  void runsInlineJobsOnTheLeastBusyDevice() throws Exception {
    var occupant = new Occupant();
    var busy = clients.submit(() -> rig.pool.run(occupant, context()));
    occupant.begun.await();
    var result = rig.runner.run(identity(inline(1), Target.INLINE));
    assertThat(result.device()).isEqualTo("fake:1");
    assertThat(rig.pool.busy(0)).isEqualTo(1);
    assertThat(rig.pool.busy(1)).isZero();
    occupant.end.countDown();
    busy.get();
  }

  @Test
  void runsPipelinesWhereTheirTensorsAre() {
    var b = create("fake:1", 3);
    var pipeline =
        new Pipeline(
            Map.of("x", inline(1, 2)),
            List.of(
                new Pipeline.Step(
                    new TestOps.Identity(), Map.of("x", "x"), Map.of(), Map.of("y", "h")),
                new Pipeline.Step(
                    new TestOps.Concat(),
                    Map.of("a", "h", "b", b.handle()),
                    Map.of(),
                    Map.of("c", "all"))),
            Map.of(),
            context());
    var result = rig.runner.run(pipeline);
    assertThat(result.device()).isEqualTo("fake:1");
    assertThat(inline(result, "all")).containsExactly(1, 2, 3);
  }

  @Test
  void lostDeviceLosesOnlyItsOwnTensors() {
    var a = create("fake:0", 1);
    var b = create("fake:1", 2);
    rig.health.passed();
    assertThat(rig.health.isReady()).isTrue();
    first.failWith(new DeviceException.Lost("it fell off the bus"));
    for (int i = 0; i < 2; i++) {
      assertThatThrownBy(
              () -> rig.runner.run(identity(new Input.Resident(a.handle()), Target.INLINE)))
          .asInstanceOf(type(Failure.Busy.class))
          .extracting(Failure::code)
          .isEqualTo(Code.DEVICE_LOST);
    }
    assertThat(rig.health.isReady()).as("ready").isFalse();
    assertThat(rig.health.isLive(Duration.ofHours(1))).as("live").isTrue();
    assertThat(rig.health.isLive(Duration.ofNanos(-1))).as("live after the timeout").isFalse();
    rig.health.admit();
    var tensors = rig.store.of(new Tenant("a"));
    assertThat(tensors.list(10, null, null).tensors())
        .containsExactly(tensors.describe(b.handle()));
    assertThatThrownBy(() -> tensors.describe(a.handle()))
        .hasMessage("the device is lost, and so are the tensors on it");
    var rest = rig.runner.run(identity(new Input.Resident(b.handle()), KEEP));
    assertThat(rest.device()).isEqualTo("fake:1");
    assertThat(rig.runner.run(identity(inline(1), Target.INLINE)).device()).isEqualTo("fake:1");
    assertThat(create(null, 5).device()).isEqualTo("fake:1");
    assertThatThrownBy(() -> rig.runner.run(concat(a.handle(), b.handle(), Target.INLINE)))
        .hasMessage("the device is lost, and so are the tensors on it");
    second.failWith(new DeviceException.Lost("so did the other"));
    assertThatThrownBy(() -> create(null, 6)).isInstanceOf(Failure.Busy.class);
    assertThatThrownBy(rig.health::admit).isInstanceOf(Failure.Busy.class);
  }

  @Test
  void losingTheDeviceOfACopiedTensorDoesNotAffectTheOtherDevice() {
    var a = create("fake:0", 1);
    var b = create("fake:1", 2, 3);
    first.failWith(new DeviceException.Lost("it fell off the bus"));
    assertThatThrownBy(() -> rig.runner.run(concat(a.handle(), b.handle(), Target.INLINE)))
        .asInstanceOf(type(Failure.class))
        .extracting(Failure::code)
        .isEqualTo(Code.DEVICE_LOST);
    assertThat(rig.health.isLost(0)).isTrue();
    assertThat(rig.health.isLost(1)).isFalse();
    assertThat(second.openBuffers()).isEqualTo(1);
  }
}
