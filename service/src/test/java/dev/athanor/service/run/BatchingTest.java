package dev.athanor.service.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op;
import dev.athanor.ops.Problem;
import dev.athanor.ops.linear.ProductDescription;
import dev.athanor.ops.tune.Planner;
import dev.athanor.ops.tune.TuningCache;
import dev.athanor.service.failure.Deadline;
import dev.athanor.service.run.Call.Destination;
import dev.athanor.service.run.Call.Target;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.tensor.Tenant;
import dev.athanor.service.tensor.TensorOptions;
import dev.athanor.service.tensor.TensorSettings;
import dev.athanor.service.transfer.Transfers;
import dev.athanor.testing.TestTier;
import io.micrometer.core.instrument.DistributionSummary;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests that waiting calls share a launch, with the same results as separate launches. */
class BatchingTest {

  private static final Catalogue CATALOGUE = Catalogue.load();

  @TempDir Path folder;

  /** Enough for one run of {@link #LARGE}, but not for a batch of two. */
  private static final long MEMORY = 3 << 20;

  /** A problem whose input and output have 1 MiB each. */
  private static final String LARGE = "x=f32[512,512]";

  private final EmulatedDevice device =
      new EmulatedDevice(EmulatorOptions.DEFAULT.withMemoryBytes(MEMORY));
  private Rig rig;
  private final ExecutorService clients = Executors.newVirtualThreadPerTaskExecutor();
  private OpRunner runner;
  private Transfers transfers;

  @BeforeEach
  void open() {
    var planner = new Planner(device.capability(), TuningCache.open(folder.resolve("tuning.json")));
    rig =
        new Rig(
            device,
            planner,
            1,
            64,
            new TensorSettings(1 << 24, 100, Duration.ofHours(1), 0, Duration.ofMinutes(1)));
    runner = rig.runner;
    transfers = rig.transfers;
  }

  @AfterEach
  void close() {
    clients.close();
    rig.close();
    device.close();
  }

  private static RequestContext context() {
    return new RequestContext(Tenant.LOCAL, Deadline.none());
  }

  private String resident(HostTensor tensor) {
    return rig.create(tensor, TensorOptions.NONE, context()).handle();
  }

  /** Runs calls that queue behind a busy stream. */
  private List<Result> runTogether(List<Call> calls) {
    var occupant = new Occupant();
    var first = CompletableFuture.runAsync(() -> rig.pool.run(occupant, context()), clients);
    await().until(() -> occupant.begun.getCount() == 0);
    var answers = new ArrayList<CompletableFuture<Result>>();
    for (var call : calls) {
      int before = rig.pool.waiting();
      answers.add(CompletableFuture.supplyAsync(() -> runner.run(call), clients));
      // A job that has waited for a second has a higher priority, so it cannot share a launch.
      await()
          .pollDelay(Duration.ZERO)
          .pollInterval(Duration.ofMillis(1))
          .until(() -> rig.pool.waiting() > before);
    }
    occupant.end.countDown();
    first.join();
    return answers.stream().map(CompletableFuture::join).toList();
  }

  private double launches(String op) {
    return summary(op).count();
  }

  private double calls(String op) {
    return summary(op).totalAmount();
  }

  private DistributionSummary summary(String op) {
    return rig.registry.get("athanor.batch.size").tag("op", op).summary();
  }

  private static MemorySegment inline(Result result, String output) {
    return ((Result.Output.Inline) Objects.requireNonNull(result.outputs().get(output)))
        .tensor()
        .data();
  }

  private static Result.Output.Resident resident(Result result) {
    return (Result.Output.Resident) Objects.requireNonNull(result.outputs().get("y"));
  }

  private Call call(Op op, Problem problem, Map<String, String> weights, long seed, Target target) {
    var inputs = new HashMap<String, Call.Input>();
    problem
        .draw(new SplittableRandom(seed))
        .forEach((name, tensor) -> inputs.put(name, new Call.Input.Inline(tensor)));
    weights.forEach((name, handle) -> inputs.put(name, new Call.Input.Resident(handle)));
    var output = op.description().outputs().getFirst().name();
    return new Call(op, inputs, problem.attributes().values(), Map.of(output, target), context());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "matmul | a=f16[%d,64] b=f16[64,40] bias=f16[40] activation=gelu | b bias",
        "matmul | a=f32[%d,64] b=f32[64,64] | b",
        "rms-norm | x=f16[%d,128] gamma=f16[128] | gamma",
        "softmax | x=f32[%d,33] |",
        "silu | x=f16[%d,40] |"
      })
  void waitingCallsShareALaunchWithIdenticalBits(String name, String text, String shared) {
    var op = CATALOGUE.find(name).orElseThrow();
    var weights = new HashMap<String, String>();
    var drawn = Problem.parse(op, text.formatted(17)).draw(new SplittableRandom(7));
    if (shared != null) {
      for (var input : List.of(shared.split(" ", -1))) {
        weights.put(input, resident(Objects.requireNonNull(drawn.get(input))));
      }
    }
    var output = op.description().outputs().getFirst().name();
    var calls = new ArrayList<Call>();
    for (int rows : new int[] {17, 33, 20, 31}) {
      var problem = Problem.parse(op, text.formatted(rows));
      calls.add(call(op, problem, weights, rows, Target.INLINE));
    }
    var alone = calls.stream().map(runner::run).toList();
    assertThat(calls(name)).isEqualTo(launches(name)).isEqualTo(4);
    var runTogether = runTogether(calls);
    assertThat(calls(name)).isEqualTo(8);
    assertThat(launches(name)).isEqualTo(5);
    assertThat(alone).extracting(Result::batchSize).containsOnly(1);
    assertThat(runTogether).extracting(Result::batchSize).containsExactly(4, 0, 0, 0);
    for (int i = 0; i < calls.size(); i++) {
      assertThat(runTogether.get(i).kernel()).isEqualTo(alone.get(i).kernel());
      assertThat(inline(runTogether.get(i), output).mismatch(inline(alone.get(i), output)))
          .as("call %d", i)
          .isEqualTo(-1);
    }
    assertThat(rig.store.count()).isEqualTo(weights.size());
  }

  @Test
  void callsOfALaunchHaveSeparateOutputs() {
    var op = CATALOGUE.find("silu").orElseThrow();
    var problem = Problem.parse(op, "x=f32[4,8]");
    var target = resident(Objects.requireNonNull(problem.draw(new SplittableRandom(9)).get("x")));
    var calls =
        List.of(
            call(op, problem, Map.of(), 1, Target.INLINE),
            call(op, problem, Map.of(), 1, new Target(new Destination.Keep(), null)),
            call(op, problem, Map.of(), 1, new Target(new Destination.Into(target), null)));
    var results = runTogether(calls);
    assertThat(launches("silu")).isEqualTo(1);
    var inline = inline(results.getFirst(), "y");
    for (var result : results.subList(1, 3)) {
      var info = resident(result).info();
      try (var reader = transfers.open(info.handle(), context())) {
        assertThat(reader.read(0, (int) info.type().bytes()).mismatch(inline)).isEqualTo(-1);
      }
    }
    assertThat(resident(results.get(2)).info().version()).isEqualTo(2);
  }

  @Test
  void incompatibleCallsRunAlone() {
    var op = CATALOGUE.find("matmul").orElseThrow();
    var problem = Problem.parse(op, "a=f32[4,8] b=f32[8,4]");
    var drawn = problem.draw(new SplittableRandom(3));
    var one = resident(Objects.requireNonNull(drawn.get("b")));
    var other = resident(Objects.requireNonNull(drawn.get("b")));
    runTogether(
        List.of(
            call(op, problem, Map.of("b", one), 1, Target.INLINE),
            call(op, problem, Map.of("b", other), 1, Target.INLINE),
            call(op, problem, Map.of(), 1, Target.INLINE),
            call(
                op,
                Problem.parse(op, "a=f32[4,8] b=f32[8,4] alpha=2"),
                Map.of("b", one),
                1,
                Target.INLINE)));
    assertThat(launches("matmul")).isEqualTo(4);
  }

  /** Few rows use another kernel than many. */
  @Test
  @Tag(TestTier.THOROUGH_TAG)
  void mixesKernelsOnlyIfBitsMayDiffer() {
    var op = CATALOGUE.find("matmul").orElseThrow();
    var text = "a=f16[%d,256] b=f16[256,512]";
    var drawn = Problem.parse(op, text.formatted(1)).draw(new SplittableRandom(3));
    var weights = Map.of("b", resident(Objects.requireNonNull(drawn.get("b"))));
    var calls = new ArrayList<Call>();
    for (int rows : new int[] {1, 300}) {
      calls.add(call(op, Problem.parse(op, text.formatted(rows)), weights, rows, Target.INLINE));
    }
    var exact = runTogether(calls);
    assertThat(exact.getFirst().kernel()).isNotEqualTo(exact.getLast().kernel());
    assertThat(launches("matmul")).isEqualTo(2);
    runner = rig.runner(false);
    var mixed = runTogether(calls);
    assertThat(launches("matmul")).isEqualTo(3);
    for (int i = 0; i < calls.size(); i++) {
      var limit = ProductDescription.tolerance(DType.F16, 256);
      assertThat(limit.error(doubles(mixed.get(i)), doubles(exact.get(i))))
          .isLessThanOrEqualTo(2 * limit.limit());
    }
  }

  private static double[] doubles(Result result) {
    return ((Result.Output.Inline) Objects.requireNonNull(result.outputs().get("c")))
        .tensor()
        .toDoubles();
  }

  @Test
  void retriesFailedBatchesOneByOne() {
    var op = CATALOGUE.find("silu").orElseThrow();
    var problem = Problem.parse(op, LARGE);
    var calls =
        List.of(
            call(op, problem, Map.of(), 1, Target.INLINE),
            call(op, problem, Map.of(), 2, Target.INLINE));
    var alone = calls.stream().map(runner::run).toList();
    var runTogether = runTogether(calls);
    assertThat(launches("silu")).isEqualTo(4);
    for (int i = 0; i < calls.size(); i++) {
      assertThat(inline(runTogether.get(i), "y").mismatch(inline(alone.get(i), "y"))).isEqualTo(-1);
    }
    assertThat(device.memory().used()).isZero();
  }
}
