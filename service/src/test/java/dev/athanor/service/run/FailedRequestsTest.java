package dev.athanor.service.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.tune.Planner;
import dev.athanor.ops.tune.TuningCache;
import dev.athanor.service.device.DeviceHealth;
import dev.athanor.service.device.Staging;
import dev.athanor.service.failure.Deadline;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.run.Call.Destination;
import dev.athanor.service.run.Call.Input;
import dev.athanor.service.run.Call.Target;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.tensor.Pin.Access;
import dev.athanor.service.tensor.Tenant;
import dev.athanor.service.tensor.TensorInfo;
import dev.athanor.service.tensor.TensorOptions;
import dev.athanor.service.tensor.TensorSettings;
import dev.athanor.testing.Timeouts;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

/** Tests that failed requests change neither device memory, nor quotas, nor tensors. */
class FailedRequestsTest {

  private static final Tenant OTHER = new Tenant("other");
  private static final TensorType FOUR = TensorType.of(DType.F32, 4);
  private static final Op IDENTITY = new TestOps.Identity();
  private static final Op CONCAT = new TestOps.Concat();
  private static final Target KEEP = new Target(new Destination.Keep(), null);

  /** Logs injected faults with stack traces; silenced during the tests. */
  private static final Logger FAULTS = (Logger) LoggerFactory.getLogger(DeviceHealth.class);

  @TempDir static Path folder;

  @BeforeAll
  static void silenceLog() {
    FAULTS.setLevel(Level.OFF);
  }

  @AfterAll
  static void restoreLog() {
    FAULTS.setLevel(null);
  }

  /** The state that a failed request must not change. */
  record State(
      int buffers,
      long used,
      int tensors,
      long charged,
      long inline,
      Map<String, TensorInfo> infos) {}

  /** A service with several tensors. */
  static final class Scene implements AutoCloseable {
    final FakeDevice device = new FakeDevice();
    final Rig rig =
        new Rig(
            device,
            new Planner(device.capability(), TuningCache.open(folder.resolve("tuning.json"))),
            1,
            1,
            new TensorSettings(160, 4, Duration.ZERO, 0, Duration.ofMinutes(1)));
    final String disconnected = create(TensorType.of(DType.U8, 1), Duration.ofSeconds(1));
    final String x = create(FOUR, null);
    final String y = create(FOUR, null);
    final String square = create(TensorType.of(DType.F32, 2, 2), null);
    final String foreign =
        rig.create(numbers(FOUR), TensorOptions.NONE, new RequestContext(OTHER, Deadline.none()))
            .handle();

    Scene() {
      rig.clock.advance(Duration.ofSeconds(2));
      rig.store.sweep();
    }

    private String create(TensorType type, @Nullable Duration lease) {
      return rig.create(numbers(type), new TensorOptions(null, null, lease, null), context())
          .handle();
    }

    State state() {
      var infos = new HashMap<String, TensorInfo>();
      for (var tenant : List.of(Tenant.LOCAL, OTHER)) {
        rig.store
            .of(tenant)
            .list(100, null, null)
            .tensors()
            .forEach(info -> infos.put(info.handle(), info));
      }
      return new State(
          device.openBuffers(),
          device.memory().used(),
          rig.store.count(),
          rig.store.bytes(),
          rig.inline.used(),
          infos);
    }

    double[] contents(String handle) {
      var info = rig.store.of(Tenant.LOCAL).describe(handle);
      try (var reader = rig.transfers.open(handle, context())) {
        return new HostTensor(info.type(), reader.read(0, (int) info.type().bytes())).toDoubles();
      }
    }

    void call(
        Op op, Map<String, Input> inputs, Map<String, Target> outputs, RequestContext context) {
      rig.runner.run(new Call(op, inputs, Map.of(), outputs, context));
    }

    @Override
    public void close() {
      rig.close();
      assertThat(device.wasFreedDirty()).isFalse();
    }
  }

  private static RequestContext context() {
    return new RequestContext(Tenant.LOCAL, Deadline.none());
  }

  private static HostTensor numbers(TensorType type) {
    var tensor = HostTensor.zeros(type);
    for (int i = 0; i < type.shape().elements(); i++) {
      type.dtype().write(tensor.data(), i, i + 1);
    }
    return tensor;
  }

  private static HostTensor defaultTarget() {
    return HostTensor.of(FOUR, 9, 9, 9, 9);
  }

  private static Input inline(HostTensor tensor) {
    return new Input.Inline(tensor);
  }

  private static Input resident(String handle) {
    return new Input.Resident(handle);
  }

  private static Target into(String handle) {
    return new Target(new Destination.Into(handle), null);
  }

  // -- invalid requests

  record InvalidRequest(String name, Code code, BiConsumer<Scene, RequestContext> request) {
    @Override
    public String toString() {
      return name;
    }
  }

  private static InvalidRequest call(
      String name,
      Code code,
      Op op,
      Function<Scene, Map<String, Input>> inputs,
      Function<Scene, Map<String, Target>> outputs) {
    return new InvalidRequest(
        name,
        code,
        (scene, context) -> scene.call(op, inputs.apply(scene), outputs.apply(scene), context));
  }

  static List<InvalidRequest> invalidRequests() {
    var one = numbers(FOUR);
    return List.of(
        call(
            "shape",
            Code.SHAPE_MISMATCH,
            CONCAT,
            s -> Map.of("a", resident(s.square)),
            _ -> Map.of()),
        call(
            "dtype",
            Code.UNSUPPORTED_DTYPE,
            CONCAT,
            s ->
                Map.of(
                    "a", resident(s.x), "b", inline(HostTensor.zeros(TensorType.of(DType.U8, 4)))),
            _ -> Map.of()),
        call(
            "device",
            Code.UNSUPPORTED_ON_DEVICE,
            CONCAT,
            _ -> Map.of("a", inline(HostTensor.zeros(TensorType.of(DType.F64, 4)))),
            _ -> Map.of()),
        call(
            "missing input",
            Code.MISSING_INPUT,
            CONCAT,
            s -> Map.of("b", resident(s.x)),
            _ -> Map.of()),
        call(
            "unknown input",
            Code.UNKNOWN_FIELD,
            CONCAT,
            s -> Map.of("a", resident(s.x), "d", resident(s.y)),
            _ -> Map.of()),
        call(
            "unknown output",
            Code.UNKNOWN_FIELD,
            CONCAT,
            s -> Map.of("a", resident(s.x)),
            _ -> Map.of("d", KEEP)),
        new InvalidRequest(
            "attribute",
            Code.UNKNOWN_FIELD,
            (s, context) ->
                s.rig.runner.run(
                    new Call(
                        IDENTITY, Map.of("x", resident(s.x)), Map.of("d", 1), Map.of(), context))),
        call(
            "another tenant's",
            Code.UNKNOWN_HANDLE,
            CONCAT,
            s -> Map.of("a", resident(s.x), "b", resident(s.foreign)),
            _ -> Map.of()),
        call(
            "expired",
            Code.EXPIRED_HANDLE,
            CONCAT,
            s -> Map.of("a", resident(s.x), "b", resident(s.disconnected)),
            _ -> Map.of()),
        call(
            "quota of tensors",
            Code.QUOTA_EXCEEDED,
            CONCAT,
            s -> Map.of("a", resident(s.x)),
            _ -> Map.of("c", KEEP, "zeros", KEEP)),
        call(
            "quota of bytes",
            Code.QUOTA_EXCEEDED,
            IDENTITY,
            _ -> Map.of("x", inline(HostTensor.zeros(TensorType.of(DType.F32, 40)))),
            _ -> Map.of("y", KEEP)),
        call(
            "into another type",
            Code.SHAPE_MISMATCH,
            CONCAT,
            s -> Map.of("a", resident(s.x)),
            s -> Map.of("c", KEEP, "zeros", into(s.square))),
        call(
            "into its input",
            Code.HANDLE_IN_USE,
            IDENTITY,
            s -> Map.of("x", resident(s.x)),
            s -> Map.of("y", into(s.x))),
        call(
            "into another tenant's",
            Code.UNKNOWN_HANDLE,
            CONCAT,
            s -> Map.of("a", resident(s.x)),
            s -> Map.of("c", KEEP, "zeros", into(s.foreign))),
        call(
            "output's dtype",
            Code.UNSUPPORTED_DTYPE,
            CONCAT,
            s -> Map.of("a", resident(s.x)),
            _ -> Map.of("c", KEEP, "zeros", new Target(new Destination.Inline(), DType.F16))),
        call(
            "form",
            Code.NOT_ACCEPTABLE,
            CONCAT,
            s -> Map.of("a", resident(s.x)),
            _ -> Map.of("c", KEEP, "zeros", new Target(new Destination.Inline(Set.of()), null))),
        new InvalidRequest(
            "second step",
            Code.SHAPE_MISMATCH,
            (s, context) ->
                s.rig.runner.run(
                    new Pipeline(
                        Map.of("in", inline(numbers(TensorType.of(DType.F32, 2, 2)))),
                        List.of(
                            new Pipeline.Step(
                                IDENTITY, Map.of("x", "in"), Map.of(), Map.of("y", "h")),
                            new Pipeline.Step(
                                CONCAT, Map.of("a", "h", "b", s.x), Map.of(), Map.of("c", "c"))),
                        Map.of(),
                        context))),
        new InvalidRequest(
            "pipeline's quota",
            Code.QUOTA_EXCEEDED,
            (s, context) ->
                s.rig.runner.run(pipeline(s, Map.of("c", KEEP, "zeros", KEEP), context))),
        new InvalidRequest(
            "creation's quota",
            Code.QUOTA_EXCEEDED,
            (s, context) ->
                s.rig.create(
                    HostTensor.zeros(TensorType.of(DType.F32, 40)), TensorOptions.NONE, context)),
        new InvalidRequest(
            "replacement's type",
            Code.SHAPE_MISMATCH,
            (s, context) -> s.rig.replace(s.square, one, _ -> true, context)),
        new InvalidRequest(
            "replacement's version",
            Code.VERSION_MISMATCH,
            (s, context) -> s.rig.replace(s.y, one, _ -> false, context)),
        new InvalidRequest(
            "replacement of another tenant's",
            Code.UNKNOWN_HANDLE,
            (s, context) -> s.rig.replace(s.foreign, one, _ -> true, context)),
        new InvalidRequest(
            "reading what expired",
            Code.EXPIRED_HANDLE,
            (s, context) -> s.rig.transfers.open(s.disconnected, context).close()));
  }

  @ParameterizedTest
  @MethodSource("invalidRequests")
  void invalidRequestsChangeNothing(InvalidRequest invalidRequests) {
    try (var scene = new Scene()) {
      var before = scene.state();
      assertThat(failure(scene, invalidRequests.request, context()))
          .isEqualTo(invalidRequests.code);
      assertThat(scene.state()).isEqualTo(before);
    }
  }

  // -- valid requests that fail

  private static Pipeline pipeline(Scene s, Map<String, Target> outputs, RequestContext context) {
    return new Pipeline(
        Map.of("in", inline(numbers(FOUR))),
        List.of(
            new Pipeline.Step(IDENTITY, Map.of("x", "in"), Map.of(), Map.of("y", "h")),
            new Pipeline.Step(
                CONCAT, Map.of("a", "h", "b", s.x), Map.of(), Map.of("c", "c", "zeros", "zeros"))),
        outputs,
        context);
  }

  /**
   * Requests that succeed without injected faults. Requests that overwrite a tensor overwrite
   * {@code y}.
   */
  enum Request {
    INLINE((s, t) -> s.call(IDENTITY, Map.of("x", inline(defaultTarget())), Map.of(), t)),
    KEPT((s, t) -> s.call(IDENTITY, Map.of("x", resident(s.x)), Map.of("y", KEEP), t)),
    INTO((s, t) ->
        s.call(IDENTITY, Map.of("x", inline(defaultTarget())), Map.of("y", into(s.y)), t)),
    MIXED((s, t) ->
        s.call(
            CONCAT,
            Map.of("a", inline(defaultTarget()), "b", resident(s.x)),
            Map.of("c", KEEP, "zeros", into(s.y)),
            t)),
    PIPELINE((s, t) -> s.rig.runner.run(pipeline(s, Map.of("c", KEEP, "zeros", into(s.y)), t))),
    CREATION((s, t) -> s.rig.create(defaultTarget(), TensorOptions.NONE, t)),
    REPLACEMENT((s, t) -> s.rig.replace(s.y, defaultTarget(), _ -> true, t)),
    READING((s, t) -> {
      try (var reader = s.rig.transfers.open(s.y, t)) {
        reader.read(0, 8);
      }
    });

    @SuppressWarnings("ImmutableEnumChecker") // a lambda without state
    final BiConsumer<Scene, RequestContext> action;

    Request(BiConsumer<Scene, RequestContext> action) {
      this.action = action;
    }

    boolean allocates() {
      return this != REPLACEMENT && this != READING;
    }
  }

  private static @Nullable Code failure(
      Scene scene, BiConsumer<Scene, RequestContext> request, RequestContext context) {
    try (var memory = scene.rig.inline.open("local")) {
      var within = Rig.in(memory, context);
      var failure = catchThrowableOfType(Failure.class, () -> request.accept(scene, within));
      return failure == null ? null : failure.code();
    }
  }

  /** Returns a context without and one with a deadline. */
  private static List<RequestContext> contexts() {
    return List.of(context(), new RequestContext(Tenant.LOCAL, Deadline.in(60_000)));
  }

  @ParameterizedTest
  @EnumSource
  void everyAllocationMayFail(Request request) {
    for (var context : contexts()) {
      int failed = 0;
      while (true) {
        try (var scene = new Scene()) {
          var before = scene.state();
          scene.device.allowAllocations(failed);
          var failure = failure(scene, request.action, context);
          if (failure == null) {
            break;
          }
          assertThat(failure).isEqualTo(Code.OUT_OF_DEVICE_MEMORY);
          assertThat(scene.state()).as("allocation %d", failed).isEqualTo(before);
          assertThat(scene.contents(scene.y)).containsExactly(1, 2, 3, 4);
          failed++;
        }
      }
      assertThat(failed > 0).isEqualTo(request.allocates());
    }
  }

  @ParameterizedTest
  @EnumSource
  void everyOperationMayFail(Request request) {
    for (var context : contexts()) {
      for (boolean lost : new boolean[] {false, true}) {
        int failed = 0;
        while (failsAt(failed, request, context, lost)) {
          failed++;
        }
        assertThat(failed).isPositive();
      }
    }
  }

  private static DeviceException fault(boolean lost) {
    return lost
        ? new DeviceException.Lost("it fell off the bus")
        : new DeviceException.KernelFault("identity", List.of("thread 7"));
  }

  /** Otherwise the next tenant could read the memory. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void memoryThatCannotBeZeroedIsNotReused(boolean lost) {
    var scene = new Scene();
    try (var _ = scene.rig) {
      scene.device.failAfter(0, fault(lost));
      scene.rig.store.of(Tenant.LOCAL).delete(scene.x);
      assertThat(scene.rig.health.isLost()).isTrue();
      assertThat(failure(scene, Request.CREATION.action, context())).isEqualTo(Code.DEVICE_LOST);
    }
  }

  private static boolean failsAt(
      int operation, Request request, RequestContext context, boolean lost) {
    var scene = new Scene();
    try (var _ = scene.rig) {
      var before = scene.state();
      scene.device.failAfter(operation, fault(lost));
      var failure = failure(scene, request.action, context);
      if (failure == null) {
        return false;
      }
      assertThat(failure).isEqualTo(lost ? Code.DEVICE_LOST : Code.INTERNAL);
      var now = scene.state();
      assertThat(now.buffers).as("operation %d", operation).isEqualTo(before.buffers);
      assertThat(now.used).isEqualTo(before.used);
      assertThat(now.tensors).isEqualTo(before.tensors);
      assertThat(now.charged).isEqualTo(before.charged);
      assertThat(now.inline).isEqualTo(before.inline);
      if (lost) {
        assertThat(now.infos).as("listed tensors").isEmpty();
        return true;
      }
      assertThat(now.infos.keySet()).isEqualTo(before.infos.keySet());
      assertThat(scene.contents(scene.x)).containsExactly(1, 2, 3, 4);
      boolean written = Objects.requireNonNull(now.infos.get(scene.y)).version() > 1;
      if (!written) {
        assertThat(now).as("operation %d", operation).isEqualTo(before);
        assertThat(scene.contents(scene.y)).containsExactly(1, 2, 3, 4);
      }
      assertThat(scene.device.wasFreedDirty()).isFalse();
      return true;
    }
  }

  // -- late and canceled requests

  private static RequestContext expiring(long millis) {
    return new RequestContext(Tenant.LOCAL, Deadline.in(millis));
  }

  private static RequestContext disconnected() {
    return new RequestContext(Tenant.LOCAL, 3, Deadline.none(), () -> true);
  }

  @ParameterizedTest
  @EnumSource
  void lateOrCanceledRequestsInTheQueueChangeNothing(Request request) throws InterruptedException {
    try (var scene = new Scene()) {
      var before = scene.state();
      var past = new RequestContext(Tenant.LOCAL, new Deadline(1, System.nanoTime() - 1));
      assertThat(failure(scene, request.action, past)).isEqualTo(Code.DEADLINE_EXCEEDED);
      assertThat(scene.state()).as("late before the queue").isEqualTo(before);

      var occupant = new Occupant();
      var first = CompletableFuture.runAsync(() -> scene.rig.pool.run(occupant, context()));
      occupant.begun.await();
      assertThat(failure(scene, request.action, expiring(15))).isEqualTo(Code.DEADLINE_EXCEEDED);
      assertThat(scene.state()).as("late in the queue").isEqualTo(before);
      assertThat(failure(scene, request.action, disconnected())).isEqualTo(Code.CANCELLED);
      assertThat(scene.state()).as("dropped from the queue").isEqualTo(before);

      var second =
          CompletableFuture.runAsync(() ->
              scene.call(IDENTITY, Map.of("x", inline(defaultTarget())), Map.of(), context()));
      await().pollInterval(Duration.ofMillis(2)).until(() -> scene.rig.pool.waiting() == 1);
      assertThat(failure(scene, request.action, context())).isEqualTo(Code.QUEUE_FULL);
      assertThat(scene.state()).as("no room in the queue").isEqualTo(before);
      occupant.end.countDown();
      first.join();
      second.join();
      assertThat(scene.state()).isEqualTo(before);

      scene.rig.pool.drain();
      assertThat(failure(scene, request.action, context())).isEqualTo(Code.DRAINING);
      assertThat(scene.state()).as("drained").isEqualTo(before);
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"INTO", "MIXED", "PIPELINE", "REPLACEMENT", "READING"})
  void requestsThatTimeOutOnATensorLockChangeNothing(Request request) throws InterruptedException {
    try (var scene = new Scene();
        var pin = scene.rig.store.of(Tenant.LOCAL).pin(scene.y, "handle")) {
      var before = scene.state();
      assertThat(pin.tryLock(Access.WRITE, 0)).isTrue();
      assertThat(failure(scene, request.action, expiring(15))).isEqualTo(Code.DEADLINE_EXCEEDED);
      assertThat(scene.state()).isEqualTo(before);
    }
  }

  enum Abandonment {
    TIMEOUT,
    DISCONNECT
  }

  @ParameterizedTest
  @EnumSource
  void abandonedRunningJobsChangeNothing(Abandonment abandonment) throws Exception {
    for (var target : List.of("inline", "keep")) {
      Timeouts.lengthen(
          60, deadline -> abandonedRunningJobChangesNothing(abandonment, target, deadline));
    }
  }

  private static boolean abandonedRunningJobChangesNothing(
      Abandonment abandonment, String target, int deadline) throws Exception {
    try (var scene = new Scene()) {
      var before = scene.state();
      int arrived = TestOps.Identity.AT_GATE.get();
      var context =
          abandonment == Abandonment.TIMEOUT
              ? expiring(deadline)
              : new RequestContext(
                  Tenant.LOCAL,
                  3,
                  Deadline.in(3_600_000),
                  () -> TestOps.Identity.AT_GATE.get() > arrived);
      var outputs =
          switch (target) {
            case "inline" -> Map.<String, Target>of();
            default -> Map.of("y", KEEP);
          };
      try (var memory = scene.rig.inline.open("local")) {
        var call =
            new Call(
                IDENTITY,
                Map.of("x", inline(defaultTarget())),
                Map.of("gate", true),
                outputs,
                Rig.in(memory, context));
        var failure = catchThrowableOfType(Failure.class, () -> scene.rig.runner.run(call));
        assertThat(failure.code())
            .isEqualTo(
                abandonment == Abandonment.TIMEOUT ? Code.DEADLINE_EXCEEDED : Code.CANCELLED);
      }
      if (abandonment == Abandonment.TIMEOUT && scene.rig.pool.busy() == 0) {
        return false; // the deadline passed before the job ran
      }
      assertThat(scene.rig.inline.used())
          .as("memory of the running job")
          .isEqualTo(target.equals("inline") ? Staging.SMALL : 0);
      var released = new AtomicBoolean();
      await()
          .pollInterval(Duration.ofMillis(2))
          .until(() -> {
            if (TestOps.Identity.AT_GATE.get() > arrived && !released.getAndSet(true)) {
              TestOps.Identity.GATE.release();
            }
            return scene.rig.pool.busy() == 0;
          });
      await()
          .pollInterval(Duration.ofMillis(2))
          .untilAsserted(() -> assertThat(scene.state()).isEqualTo(before));
      assertThat(scene.contents(scene.y)).containsExactly(1, 2, 3, 4);
      return true;
    }
  }

  /** A job that has begun to overwrite a tensor ends as usual, however long that takes. */
  @ParameterizedTest
  @EnumSource
  void runningJobsThatOverwriteATensorEnd(Abandonment abandonment) throws Exception {
    Timeouts.lengthen(60, deadline -> overwritingJobEnds(abandonment, deadline));
  }

  private static boolean overwritingJobEnds(Abandonment abandonment, int deadline) {
    try (var scene = new Scene()) {
      int arrived = TestOps.Identity.AT_GATE.get();
      var context =
          abandonment == Abandonment.TIMEOUT
              ? expiring(deadline)
              : new RequestContext(
                  Tenant.LOCAL, 3, Deadline.none(), () -> TestOps.Identity.AT_GATE.get() > arrived);
      var call =
          new Call(
              IDENTITY,
              Map.of("x", inline(defaultTarget())),
              Map.of("gate", true),
              Map.of("y", into(scene.y)),
              context);
      var running = CompletableFuture.supplyAsync(() -> scene.rig.runner.run(call));
      await()
          .pollInterval(Duration.ofMillis(2))
          .until(() -> running.isDone() || TestOps.Identity.AT_GATE.get() > arrived);
      if (TestOps.Identity.AT_GATE.get() == arrived) {
        return false; // the deadline passed before the job ran
      }
      await()
          .pollInterval(Duration.ofMillis(2))
          .until(() -> scene.rig.pool.waiting() == 0 && isPast(context.deadline()));
      TestOps.Identity.GATE.release();
      assertThat(running.join().outputs()).containsOnlyKeys("y");
      assertThat(scene.contents(scene.y)).containsExactly(9, 9, 9, 9);
      return true;
    }
  }

  private static boolean isPast(Deadline deadline) {
    return !deadline.isSet() || deadline.remainingNanos() < 0;
  }
}
