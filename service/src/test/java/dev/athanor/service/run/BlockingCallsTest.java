package dev.athanor.service.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.Plan;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.run.ForwardingPlan;
import dev.athanor.ops.tune.Planner;
import dev.athanor.ops.tune.TuningCache;
import dev.athanor.service.device.ProcessorShares;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.run.Call.Input;
import dev.athanor.service.schedule.TenantShares;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.tensor.Tenant;
import dev.athanor.service.tensor.TensorOptions;
import dev.athanor.service.tensor.TensorSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests blocking calls: loading kernels, freeing memory, and calls that hang. */
class BlockingCallsTest {

  @TempDir static Path folder;

  private final FakeDevice device = new FakeDevice();
  private final ExecutorService clients = Executors.newVirtualThreadPerTaskExecutor();
  private final Rig rig =
      new Rig(
          device,
          new Planner(device.capability(), TuningCache.open(folder.resolve("tuning.json"))),
          1,
          4,
          new TensorSettings(1 << 20, 10, Duration.ZERO, 0, Duration.ofMinutes(1)));

  @AfterEach
  void close() {
    clients.close();
    rig.close();
  }

  /** The op {@code identity} with an action that loads its kernels. */
  private record SlowOp(Op identity, Runnable load) implements Op {
    @Override
    public OpDescription description() {
      return identity.description();
    }

    @Override
    public List<Plan> plans(
        Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
      var plan = identity.plans(inputs, attributes, capability).getFirst();
      return List.of(new SlowPlan(plan, load));
    }

    @Override
    public Map<String, double[]> reference(Map<String, HostTensor> inputs, Attributes attributes) {
      return identity.reference(inputs, attributes);
    }

    @Override
    public List<Case> cases(RandomGenerator random, boolean quick) {
      return identity.cases(random, quick);
    }
  }

  private record SlowPlan(Plan plan, Runnable action) implements ForwardingPlan {

    @Override
    public boolean isLoaded(KernelCache kernels) {
      return false;
    }

    @Override
    public void load(KernelCache kernels) {
      action.run();
    }
  }

  private Call call(Runnable load, Map<String, ?> attributes) {
    var x = HostTensor.of(TensorType.of(DType.F32, 1), 1);
    return new Call(
        new SlowOp(new TestOps.Identity(), load),
        Map.of("x", new Input.Inline(x)),
        attributes,
        Map.of(),
        RequestContext.OWN);
  }

  @Test
  void loadsKernelsOnPlatformThreadsAndCountsThemAsPreparation() throws Exception {
    var threads = new java.util.concurrent.CopyOnWriteArrayList<Thread>();
    Runnable load =
        () -> {
          threads.add(Thread.currentThread());
          try {
            Thread.sleep(30);
          } catch (InterruptedException e) {
            throw new IllegalStateException(e);
          }
        };
    var timing = clients.submit(() -> rig.runner.run(call(load, Map.of()))).get().timing();
    assertThat(threads).singleElement().matches(thread -> !thread.isVirtual());
    assertThat(timing.prepare()).isGreaterThanOrEqualTo(30_000);
    assertThat(timing.prepare() + timing.queue()).isLessThanOrEqualTo(timing.total());
  }

  @Test
  void detectsDeviceLossWhileLoadingAKernel() {
    rig.health.passed();
    Runnable load =
        () -> {
          throw new DeviceException.Lost("it fell off the bus");
        };
    var failure = catchThrowableOfType(Failure.class, () -> rig.runner.run(call(load, Map.of())));
    assertThat(failure.code()).isEqualTo(Code.DEVICE_LOST);
    assertThat(rig.health.isReady()).isFalse();
  }

  @Test
  void unexpectedExceptionsAreInternalErrors() {
    Runnable load =
        () -> {
          throw new IllegalStateException("a bug");
        };
    var failure = catchThrowableOfType(Failure.class, () -> rig.runner.run(call(load, Map.of())));
    assertThat(failure.code()).isEqualTo(Code.INTERNAL);
  }

  private String tensor() {
    var ones = HostTensor.of(TensorType.of(DType.F32, 2), 1, 1);
    return rig.create(ones, TensorOptions.NONE, RequestContext.OWN).handle();
  }

  @Test
  void freesMemoryOnPlatformThreads() throws Exception {
    clients.submit(() -> rig.store.of(Tenant.LOCAL).delete(tensor())).get();
    assertThat(device.openBuffers()).isZero();
    assertThat(device.heldCarrier()).isFalse();
  }

  /** The watchdog does not wait for the device. */
  @Test
  void watchdogDetectsADeviceThatHangsWhileZeroing() {
    var handle = tensor();
    var end = new CountDownLatch(1);
    device.hangUntil(end);
    var deletion = clients.submit(() -> rig.store.of(Tenant.LOCAL).delete(handle));
    await().until(() -> rig.health.isBusy(0));
    rig.pool.watch(Duration.ofHours(1));
    assertThat(rig.health.isLost()).isFalse();
    rig.pool.watch(Duration.ZERO);
    assertThat(rig.health.isLost()).isTrue();
    assertThat(deletion.isDone()).isFalse();
    end.countDown();
    await().until(deletion::isDone);
  }

  @Test
  void requestsReleaseTheProcessorWhileTheDeviceHangs() throws Exception {
    var handle = tensor();
    var shares = new ProcessorShares(1, TenantShares.UNLIMITED, System::nanoTime);
    var end = new CountDownLatch(1);
    device.hangUntil(end);
    var deletion =
        clients.submit(() -> {
          try (var _ = shares.open("first")) {
            ProcessorShares.acquire(1 << 20);
            rig.store.of(Tenant.LOCAL).delete(handle);
          }
        });
    await().until(() -> rig.health.isBusy(0));
    clients
        .submit(() -> {
          try (var _ = shares.open("second")) {
            ProcessorShares.acquire(1 << 20);
          }
        })
        .get();
    assertThat(deletion.isDone()).isFalse();
    end.countDown();
    deletion.get();
  }

  @Test
  void doesNotCloseADeviceDuringALaunch() {
    var atGate = TestOps.Identity.AT_GATE.get();
    var running = clients.submit(() -> rig.runner.run(call(() -> {}, Map.of("gate", true))));
    await().until(() -> TestOps.Identity.AT_GATE.get() > atGate);
    rig.pool.close(Duration.ofMillis(1));
    rig.runtimes.close();
    assertThat(device.isClosed()).isFalse();
    TestOps.Identity.GATE.release();
    await().until(running::isDone);
    await().until(() -> !rig.health.isBusy(0));
    rig.runtimes.close();
    assertThat(device.isClosed()).isTrue();
  }
}
