package dev.athanor.service.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.assertj.core.api.Assertions.within;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import dev.athanor.engine.Devices;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op;
import dev.athanor.ops.Problem;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.tune.Planner;
import dev.athanor.ops.tune.TuningCache;
import dev.athanor.service.Vulkan;
import dev.athanor.service.device.DeviceHealth;
import dev.athanor.service.failure.Deadline;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.run.Call.Destination;
import dev.athanor.service.run.Call.Input;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.tensor.Tenant;
import dev.athanor.service.tensor.TensorOptions;
import dev.athanor.service.tensor.TensorSettings;
import dev.athanor.testing.TestTier;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.slf4j.LoggerFactory;

/** Tests that repeated pipelines run as graphs, with the same results as step by step. */
class CapturedPipelinesTest {

  private static final Op IDENTITY = new TestOps.Identity();
  private static final Op CONCAT = new TestOps.Concat();
  private static final Call.Target KEEP = new Call.Target(new Destination.Keep(), null);
  private static final int MIB = 1 << 20;

  @TempDir private Path folder;
  private final FakeDevice device = new FakeDevice();
  private @Nullable Rig rig;

  private Rig open(int streams, int graphs) {
    var opened = open(device, streams, graphs);
    rig = opened;
    return opened;
  }

  private Rig open(Device on, int streams, int graphs) {
    return new Rig(
        List.of(on),
        new Planner(on.capability(), TuningCache.open(folder.resolve("tuning.json"))),
        streams,
        16,
        new TensorSettings(1 << 28, 100, Duration.ofHours(1), 0, Duration.ofMinutes(1)),
        graphs);
  }

  static List<String> devices() {
    return TestTier.current() != TestTier.QUICK && Vulkan.isPresent()
        ? List.of("emulator:0", "vulkan:0")
        : List.of("emulator:0");
  }

  private static Device openDevice(String name) {
    return name.startsWith("emulator")
        ? new EmulatedDevice(EmulatorOptions.DEFAULT.withMemoryBytes(64L << 20))
        : Devices.open(name).device();
  }

  @AfterEach
  void freesAllGraphsAndZeroesMemory() {
    if (rig != null) {
      rig.close();
      assertThat(device.openGraphs()).isZero();
      assertThat(device.wasFreedDirty()).isFalse();
    }
  }

  private static RequestContext context() {
    return new RequestContext(Tenant.LOCAL, Deadline.none());
  }

  /** Returns a context with a deadline that no run exceeds. */
  private static RequestContext withDeadline() {
    return new RequestContext(Tenant.LOCAL, Deadline.in(600_000));
  }

  private static String resident(Rig rig, HostTensor tensor, RequestContext context) {
    return rig.create(tensor, TensorOptions.NONE, context).handle();
  }

  private static String resident(Rig rig, double... elements) {
    return resident(rig, floats(elements), context());
  }

  private static HostTensor floats(double... elements) {
    return HostTensor.of(TensorType.of(DType.F32, elements.length), elements);
  }

  private static double launches(Rig rig) {
    var counter = rig.registry.find("athanor.graph.launches").counter();
    return counter == null ? 0 : counter.count();
  }

  private static Pipeline.Step step(Op op, Map<String, String> inputs, Map<String, String> names) {
    return new Pipeline.Step(op, inputs, Map.of(), names);
  }

  private static double[] inline(Result result, String output) {
    return ((Result.Output.Inline) Objects.requireNonNull(result.outputs().get(output)))
        .tensor()
        .toDoubles();
  }

  private static double[] contents(Rig rig, Result result, String output) {
    var info =
        ((Result.Output.Resident) Objects.requireNonNull(result.outputs().get(output))).info();
    try (var reader = rig.transfers.open(info.handle(), context())) {
      return new HostTensor(info.type(), reader.read(0, (int) info.type().bytes())).toDoubles();
    }
  }

  // -- kernels

  @ParameterizedTest
  @MethodSource("devices")
  @Tag(TestTier.THOROUGH_TAG)
  void graphsOfKernelsComputeTheSameBitsForNewInputs(String name) {
    try (var real = openDevice(name);
        var rig = open(real, 1, 4)) {
      var catalogue = Catalogue.load();
      var matmul = catalogue.find("matmul").orElseThrow();
      var norm = catalogue.find("rms-norm").orElseThrow();
      var product = "a=f32[1,4096] b=f32[4096,8]";
      assertThat(rig.runner.plan(matmul, product).workspaceBytes()).isPositive();
      var random = new SplittableRandom(5);
      var b = Objects.requireNonNull(Problem.parse(matmul, product).draw(random).get("b"));
      var weights = resident(rig, b, context());
      var x = Problem.parse(norm, "x=f32[1,4096] gamma=f32[4096]");
      var gamma = resident(rig, Objects.requireNonNull(x.draw(random).get("gamma")), context());
      var runtime = resident(rig, HostTensor.zeros(TensorType.of(DType.F32, 1, 8)), context());
      var silu = catalogue.find("silu").orElseThrow();
      var softmax = catalogue.find("softmax").orElseThrow();
      var steps =
          List.of(
              step(norm, Map.of("x", "in", "gamma", gamma), Map.of("y", "h")),
              step(matmul, Map.of("a", "h", "b", weights), Map.of("c", "z")),
              step(silu, Map.of("x", "z"), Map.of("y", "s")),
              step(softmax, Map.of("x", "s"), Map.of("y", "p")),
              step(silu, Map.of("x", "h"), Map.of("y", "unread")));
      var outputs =
          Map.of(
              "z",
              new Call.Target(new Destination.Into(runtime), null),
              "s",
              KEEP,
              "p",
              Call.Target.INLINE);
      for (int i = 0; i < 4; i++) {
        Map<String, Input> inputs =
            Map.of("in", new Input.Inline(Objects.requireNonNull(x.draw(random).get("x"))));
        // a pipeline with other steps has no graph
        var others = new ArrayList<>(steps);
        for (int j = 0; j <= i; j++) {
          others.add(step(silu, Map.of("x", "h"), Map.of("y", "unread" + j)));
        }
        var bySteps = rig.runner.run(new Pipeline(inputs, others, outputs, context()));
        var z = contents(rig, bySteps, "z");
        assertThat(launches(rig)).isEqualTo(Math.max(i - 1, 0));
        var result = rig.runner.run(new Pipeline(inputs, steps, outputs, context()));
        assertThat(launches(rig)).isEqualTo(i);
        assertThat(inline(result, "p")).isEqualTo(inline(bySteps, "p"));
        assertThat(contents(rig, result, "s")).isEqualTo(contents(rig, bySteps, "s"));
        assertThat(contents(rig, result, "z")).isEqualTo(z);
        assertThat(result.steps()).hasSameSizeAs(steps);
        double sum = result.steps().stream().mapToDouble(Result.Step::micros).sum();
        assertThat(result.timing().kernel()).isPositive().isCloseTo(sum, within(1e-3));
      }
      // outputs may have other targets than at capture
      var result =
          rig.runner.run(
              new Pipeline(
                  Map.of("in", new Input.Inline(Objects.requireNonNull(x.draw(random).get("x")))),
                  steps,
                  Map.of("p", KEEP, "z", Call.Target.INLINE, "s", Call.Target.INLINE),
                  context()));
      assertThat(launches(rig)).isEqualTo(4);
      assertThat(DoubleStream.of(contents(rig, result, "p")).sum()).isCloseTo(1, within(1e-5));
      rig.runtimes.first().forgetPlans();
      long rounding = name.startsWith("vulkan") ? 256L * rig.store.count() : 0;
      assertThat(real.memory().used() - rig.store.bytes()).isBetween(0L, rounding);
    }
  }

  /** A repeated pipeline updates a resident tensor in place, also if it has a deadline. */
  @ParameterizedTest
  @MethodSource("devices")
  void graphsUpdateTensorsInPlace(String name) {
    try (var real = openDevice(name);
        var rig = open(real, 1, 4)) {
      var catalogue = Catalogue.load();
      var copy = catalogue.find("copy").orElseThrow();
      var scale = catalogue.find("scale").orElseThrow();
      var cache = resident(rig, new double[12]);
      var steps =
          List.of(
              new Pipeline.Step(
                  scale, Map.of("x", "new"), Map.of("factor", 2), Map.of("y", "twice")),
              step(copy, Map.of("into", cache, "x", "twice", "at", "at"), Map.of("y", "cache")),
              step(scale, Map.of("x", "cache"), Map.of("y", "all")));
      var outputs =
          Map.of(
              "cache",
              new Call.Target(new Destination.Into(cache), null),
              "all",
              Call.Target.INLINE);
      var expected = new double[12];
      for (int i = 0; i < 5; i++) {
        Map<String, Input> inputs =
            Map.of(
                "new",
                new Input.Inline(floats(i + 1, -i)),
                "at",
                new Input.Inline(HostTensor.of(new TensorType(DType.I32, Shape.of()), 2 * i)));
        var result = rig.runner.run(new Pipeline(inputs, steps, outputs, withDeadline()));
        expected[2 * i] = 2 * (i + 1);
        expected[2 * i + 1] = -2 * i;
        assertThat(inline(result, "all")).isEqualTo(expected);
        assertThat(contents(rig, result, "cache")).isEqualTo(expected);
        assertThat(result.steps()).extracting(Result.Step::copiedBytes).containsOnly(0L);
        assertThat(rig.store.bytes()).isEqualTo(48);
        assertThat(launches(rig)).isEqualTo(i);
      }
    }
  }

  // -- cache keys

  /** Returns {@code y = x ++ b} of an input and a resident tensor. */
  private static Pipeline join(
      double[] x, String b, Map<String, ?> attributes, RequestContext context) {
    return new Pipeline(
        Map.of("x", new Input.Inline(floats(x))),
        List.of(
            new Pipeline.Step(IDENTITY, Map.of("x", "x"), attributes, Map.of("y", "h")),
            step(CONCAT, Map.of("a", "h", "b", b), Map.of("c", "y"))),
        Map.of(),
        context);
  }

  private static Pipeline join(double[] x, String b) {
    return join(x, b, Map.of(), context());
  }

  private static Pipeline joinReversed(double[] x, String b) {
    return new Pipeline(
        Map.of("x", new Input.Inline(floats(x))),
        List.of(
            step(IDENTITY, Map.of("x", "x"), Map.of("y", "h")),
            step(CONCAT, Map.of("a", b, "b", "h"), Map.of("c", "y"))),
        Map.of(),
        context());
  }

  private static void expectRun(Rig rig, Pipeline pipeline, boolean asGraph, double... expected) {
    double before = launches(rig);
    assertThat(inline(rig.runner.run(pipeline), "y")).containsExactly(expected);
    assertThat(launches(rig) - before).isEqualTo(asGraph ? 1 : 0);
  }

  @Test
  void pipelinesThatDifferInMoreThanElementsHaveSeparateGraphs() {
    var rig = open(1, 16);
    var other = new RequestContext(new Tenant("other"), Deadline.none());
    var b = resident(rig, 7, 8);
    var sameOfAnother = resident(rig, floats(9, 10), other);
    var c = resident(rig, 7.5, 8.5);
    double[] x = {1, 2};
    double[] longer = {1, 2, 3};
    for (boolean again : new boolean[] {false, true}) {
      expectRun(rig, join(x, b), again, 1, 2, 7, 8);
      expectRun(rig, join(new double[] {3, 4}, b), true, 3, 4, 7, 8);
      expectRun(rig, join(longer, b), again, 1, 2, 3, 7, 8);
      expectRun(rig, join(x, c), again, 1, 2, 7.5, 8.5);
      expectRun(rig, join(x, b, Map.of("factor", 2), context()), again, 1, 2, 7, 8);
      expectRun(rig, join(x, sameOfAnother, Map.of(), other), again, 1, 2, 9, 10);
      expectRun(rig, joinReversed(x, b), again, 7, 8, 1, 2);
      expectRun(rig, join(x, b, Map.of(), withDeadline()), true, 1, 2, 7, 8);
    }
    assertThat(device.openGraphs()).isEqualTo(6);
  }

  /** There are no resident tensors, so only the tenant distinguishes the pipelines. */
  @Test
  void tenantsDoNotShareGraphs() {
    var rig = open(1, 16);
    var steps =
        List.of(
            step(IDENTITY, Map.of("x", "x"), Map.of("y", "h")),
            step(IDENTITY, Map.of("x", "h"), Map.of("y", "y")));
    for (var tenant : List.of("a", "b")) {
      var context = new RequestContext(new Tenant(tenant), Deadline.none());
      var pipeline =
          new Pipeline(Map.of("x", new Input.Inline(floats(1, 2))), steps, Map.of(), context);
      expectRun(rig, pipeline, false, 1, 2);
      expectRun(rig, pipeline, true, 1, 2);
    }
    assertThat(device.openGraphs()).isEqualTo(2);
  }

  @Test
  void doesNotCaptureSingleSteps() {
    var rig = open(1, 16);
    var pipeline =
        new Pipeline(
            Map.of("x", new Input.Inline(floats(1, 2))),
            List.of(step(IDENTITY, Map.of("x", "x"), Map.of("y", "y"))),
            Map.of(),
            context());
    IntStream.range(0, 3).forEach(_ -> expectRun(rig, pipeline, false, 1, 2));
  }

  @ParameterizedTest
  @CsvSource({"cuda:0,,16", "emulator:0,,0", "cuda:1,0,0", "emulator:0,3,3"})
  void onlyGpusCacheGraphsByDefault(String id, @Nullable Integer setting, int graphs) {
    var capability = new Capability(id, "any", Target.SM_80, "1", 1, 1024, 49_152, 99_328, MIB);
    assertThat(Rig.settings(1, 1, true, setting).graphCacheSize(capability)).isEqualTo(graphs);
  }

  // -- eviction

  private void capture(Rig rig, String b) {
    expectRun(rig, join(new double[] {1, 2}, b), false, 1, 2, 7, 8);
    expectRun(rig, join(new double[] {1, 2}, b), true, 1, 2, 7, 8);
  }

  @Test
  void deletingATensorDeletesItsGraphs() {
    var rig = open(1, 16);
    long before = device.memory().used();
    var b = resident(rig, 7, 8);
    capture(rig, b);
    assertThat(device.openGraphs()).isEqualTo(1);
    rig.store.of(Tenant.LOCAL).delete(b);
    assertThat(device.openGraphs()).isZero();
    assertThat(device.memory().used()).isEqualTo(before);
    capture(rig, resident(rig, 7, 8));
  }

  @Test
  void evictsTheLeastRecentlyUsedGraph() {
    var rig = open(1, 2);
    var handles = IntStream.range(0, 3).mapToObj(_ -> resident(rig, 7, 8)).toList();
    capture(rig, handles.get(0));
    long one = device.memory().used();
    capture(rig, handles.get(1));
    long two = device.memory().used();
    expectRun(rig, join(new double[] {1, 2}, handles.get(0)), true, 1, 2, 7, 8);
    capture(rig, handles.get(2));
    assertThat(device.openGraphs()).isEqualTo(2);
    assertThat(device.memory().used()).isEqualTo(two).isGreaterThan(one);
    expectRun(rig, join(new double[] {3, 2}, handles.get(0)), true, 3, 2, 7, 8);
    expectRun(rig, join(new double[] {1, 2}, handles.get(1)), false, 1, 2, 7, 8);
  }

  @Test
  void newPlansReplaceGraphs() {
    var rig = open(1, 16);
    var b = resident(rig, 7, 8);
    long before = device.memory().used();
    capture(rig, b);
    rig.runtimes.first().forgetPlans();
    assertThat(device.openGraphs()).isZero();
    assertThat(device.memory().used()).isEqualTo(before);
    capture(rig, b);
  }

  @Test
  void evictsGraphsForTensors() {
    var rig = open(1, 16);
    var b = resident(rig, 7, 8);
    var x = new double[MIB];
    for (int i = 0; i < 2; i++) {
      rig.runner.run(join(x, b));
    }
    assertThat(device.openGraphs()).isEqualTo(1);
    assertThat(device.memory().used()).isGreaterThan(8 * MIB);
    resident(rig, HostTensor.zeros(TensorType.of(DType.U8, 60L << 20)), context());
    assertThat(device.openGraphs()).isZero();
    assertThat(device.memory().used()).isEqualTo(rig.store.bytes());
  }

  /** The graph has its own output buffer, and the client's tensor needs the same size again. */
  @Test
  void runsStepByStepIfOutputsDoNotFitBesideTheGraph() {
    var rig = open(1, 16);
    var x = HostTensor.zeros(TensorType.of(DType.U8, 22L << 20));
    var pipeline =
        new Pipeline(
            Map.of("x", new Input.Inline(x)),
            List.of(
                step(IDENTITY, Map.of("x", "x"), Map.of("y", "h")),
                step(IDENTITY, Map.of("x", "h"), Map.of("y", "y"))),
            Map.of("y", KEEP),
            context());
    for (int i = 0; i < 3; i++) {
      var result = rig.runner.run(pipeline);
      var output = (Result.Output.Resident) Objects.requireNonNull(result.outputs().get("y"));
      rig.store.of(Tenant.LOCAL).delete(output.info().handle());
      assertThat(launches(rig)).isZero();
      assertThat(device.openGraphs()).isZero();
      assertThat(device.memory().used()).isZero();
    }
  }

  @Test
  void runsStepByStepWhileTheGraphIsRunning() {
    var rig = open(2, 16);
    var b = resident(rig, 7, 8);
    var gated = Map.of("gate", true);
    TestOps.Identity.GATE.release();
    expectRun(rig, join(new double[] {1, 2}, b, gated, context()), false, 1, 2, 7, 8);
    int before = TestOps.Identity.AT_GATE.get();
    var results = new ArrayList<CompletableFuture<Result>>();
    for (int i = 0; i < 2; i++) {
      double[] x = {i, i};
      int arrived = before + i;
      results.add(
          CompletableFuture.supplyAsync(() -> rig.runner.run(join(x, b, gated, context()))));
      await().until(() -> TestOps.Identity.AT_GATE.get() > arrived);
    }
    TestOps.Identity.GATE.release(2); // the first is captured there, the second runs
    for (int i = 0; i < 2; i++) {
      assertThat(inline(results.get(i).join(), "y")).containsExactly(i, i, 7, 8);
    }
    assertThat(launches(rig)).isEqualTo(1);
    assertThat(device.openGraphs()).isEqualTo(1);
    expectRun(rig, join(new double[] {5, 6}, b, gated, context()), true, 5, 6, 7, 8);
  }

  @Test
  void everyOperationOfAGraphRunMayFail() {
    var faults = (Logger) LoggerFactory.getLogger(DeviceHealth.class);
    faults.setLevel(Level.OFF);
    try {
      var rig = open(1, 16);
      var b = resident(rig, 7, 8);
      var runtime = resident(rig, 0, 0, 0, 0);
      var into = new Call.Target(new Destination.Into(runtime), null);
      var to = join(new double[] {1, 2}, b);
      var pipeline = new Pipeline(to.inputs(), to.steps(), Map.of("y", into), context());
      int buffers = device.openBuffers();
      int failed = 0;
      while (true) {
        rig.runner.run(pipeline);
        rig.runner.run(pipeline);
        assertThat(device.openGraphs()).isEqualTo(1);
        device.failAfter(failed, new DeviceException.KernelFault("copy", List.of("thread 7")));
        var failure = catchThrowableOfType(Failure.class, () -> rig.runner.run(pipeline));
        if (failure == null) {
          break;
        }
        assertThat(failure.code()).isEqualTo(Code.INTERNAL);
        if (device.openGraphs() > 0) { // failed while copying the output
          rig.runtimes.first().forgetPlans();
        }
        assertThat(device.openBuffers()).as("operation %d", failed).isEqualTo(buffers);
        failed++;
      }
      assertThat(failed).isGreaterThan(6);
      device.failAfter(Integer.MAX_VALUE, new DeviceException.KernelFault("none", List.of()));
      assertThat(contents(rig, rig.runner.run(pipeline), "y")).containsExactly(1, 2, 7, 8);
    } finally {
      faults.setLevel(null);
    }
  }

  @Test
  void faultInAGraphEvictsIt() {
    var faults = (Logger) LoggerFactory.getLogger(DeviceHealth.class);
    faults.setLevel(Level.OFF);
    try {
      var rig = open(1, 16);
      var b = resident(rig, 7, 8);
      long before = device.memory().used();
      capture(rig, b);
      // an upload comes first
      device.failAfter(2, new DeviceException.KernelFault("copy", List.of("thread 7")));
      assertThatThrownBy(() -> rig.runner.run(join(new double[] {1, 2}, b)))
          .isInstanceOf(Failure.Internal.class);
      assertThat(device.openGraphs()).isZero();
      assertThat(device.memory().used()).isEqualTo(before);
      capture(rig, b);
    } finally {
      faults.setLevel(null);
    }
  }
}
