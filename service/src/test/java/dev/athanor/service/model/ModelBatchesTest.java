package dev.athanor.service.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.tune.Planner;
import dev.athanor.ops.tune.TuningCache;
import dev.athanor.service.codec.ByteSource;
import dev.athanor.service.failure.Deadline;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.run.Call;
import dev.athanor.service.run.Call.Target;
import dev.athanor.service.run.Pipeline;
import dev.athanor.service.run.Result;
import dev.athanor.service.run.Rig;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.tensor.Tenant;
import dev.athanor.service.tensor.TensorOptions;
import dev.athanor.service.tensor.TensorSettings;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests calls that share runs of a model. */
class ModelBatchesTest {

  private static final int WIDTH = 512;

  /** The softmax of the product with w, whose kernel depends on the number of rows. */
  private static final String GRAPH =
      """
      {'inputs': {'x': {'dtype': 'f32', 'shape': ['rows', 512]}}, 'weights': {'w': 'w'},
       'steps': [{'op': 'matmul', 'inputs': {'a': 'x', 'b': 'w'}, 'outputs': {'c': 'c'}},
                 {'op': 'softmax', 'inputs': {'x': 'c'}, 'outputs': {'y': 's'}}],
       'outputs': {'y': 's', 'c': 'c'}}\
      """;

  @TempDir private Path folder;
  private final EmulatedDevice device = new EmulatedDevice();
  private Rig rig;
  private StoredModels models;

  /** Holds the first run until other calls have been started. */
  private final CountDownLatch begun = new CountDownLatch(1);

  private final CountDownLatch release = new CountDownLatch(1);

  /** The number of calls of each run that began. */
  private final List<Integer> runs = new ArrayList<>();

  private boolean failsShared;

  @BeforeEach
  void open() {
    var planner = new Planner(device.capability(), TuningCache.open(folder.resolve("tuning.json")));
    var quota = new TensorSettings(1 << 20, 100, Duration.ZERO, 0, Duration.ofMinutes(1));
    rig = new Rig(device, planner, 1, 16, quota);
    models =
        new StoredModels(Catalogue.load(), rig.store, rig.transfers, new ModelSettings("", 2, 1));
    rig.store.of(Tenant.LOCAL);
  }

  @AfterEach
  void close() {
    rig.close();
    device.close();
  }

  private StoredModel put(String graph, String extents, String batch) throws IOException {
    var text = graph.replace('\'', '"').getBytes(StandardCharsets.UTF_8);
    var upload =
        new ModelUpload(
            ByteSource.of(new ByteArrayInputStream(text)),
            ModelUpload.Format.GRAPH,
            1 << 20,
            ExtentRanges.parse(extents),
            batch);
    var prepared = new PreparedModels(models, rig.clock, rig.runner::run);
    var id = models.id(Tenant.LOCAL, "model");
    var made = prepared.prepare(id, upload, 0, RequestContext.OWN);
    prepared.store(made, List.of(), RequestContext.OWN);
    return made.model();
  }

  /** Stores {@link #GRAPH}. */
  private StoredModel put(long most) throws IOException {
    var w = rig.create(numbers(WIDTH, 8), TensorOptions.NONE, RequestContext.OWN).handle();
    return put(GRAPH.replace("'w': 'w'", "'w': '%s'".formatted(w)), "rows:1-" + most, "rows");
  }

  private static HostTensor numbers(long rows, long columns) {
    var random = new Random(rows);
    var type = TensorType.of(DType.F32, rows, columns);
    var values = new double[(int) (rows * columns)];
    Arrays.setAll(values, _ -> random.nextGaussian());
    return HostTensor.of(type, values);
  }

  private Supplier<Result> runner(Pipeline pipeline) {
    runs.add(pipeline.calls());
    if (failsShared && pipeline.calls() > 1) {
      throw new Failure.Refused(Failure.Code.INVALID_TENSOR, "a row is invalid");
    }
    if (begun.getCount() > 0) {
      begun.countDown();
      try {
        release.await();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }
    return rig.runner.start(pipeline);
  }

  private Supplier<Result> start(
      StoredModel model, HostTensor x, Map<String, Target> targets, RequestContext context) {
    return models.start(
        model, Map.of("x", new Call.Input.Inline(x)), targets, context, this::runner);
  }

  private Supplier<Result> start(StoredModel model, long rows) {
    return start(model, numbers(rows, WIDTH), Map.of(), RequestContext.OWN);
  }

  /** Starts a call whose run ends after {@link #release}. */
  private Supplier<Result> startFirst(StoredModel model) throws InterruptedException {
    var first = start(model, 1);
    begun.await();
    return first;
  }

  private static byte[] bits(Result result, String output) {
    var tensor =
        ((Result.Output.Inline) Objects.requireNonNull(result.outputs().get(output))).tensor();
    return tensor.data().toArray(ValueLayout.JAVA_BYTE);
  }

  private byte[] alone(StoredModel model, long rows) {
    var context = RequestContext.OWN.withRowInvariance(true);
    var call =
        model.call(Map.of("x", new Call.Input.Inline(numbers(rows, WIDTH))), Map.of(), context);
    return bits(call.named(rig.runner.run(call.pipeline())), "y");
  }

  @Test
  void callsThatCollectDuringARunShareTheNext() throws Exception {
    var model = put(64);
    var first = startFirst(model);
    var calls = new ArrayList<Supplier<Result>>();
    for (int rows = 1; rows <= 33; rows += 16) {
      calls.add(start(model, rows));
    }
    release.countDown();
    assertThat(first.get().batchSize()).isEqualTo(1);
    var sizes = new ArrayList<Integer>();
    for (int i = 0; i < calls.size(); i++) {
      var result = calls.get(i).get();
      sizes.add(result.batchSize());
      assertThat(bits(result, "y")).as("call %d", i).isEqualTo(alone(model, 1 + 16 * i));
      assertThat(result.timing().queue()).isNotNegative();
    }
    assertThat(sizes).containsExactly(3, 0, 0);
    assertThat(runs).containsExactly(1, 3);
    var launches = rig.registry.get("athanor.batch.size").tag("op", "softmax").summary();
    assertThat(launches.max()).isEqualTo(3);
  }

  @Test
  void aRunHasNoMoreRowsThanTheRange() throws Exception {
    var model = put(4);
    var first = startFirst(model);
    var calls = List.of(start(model, 3), start(model, 2), start(model, 2));
    release.countDown();
    assertThat(first.get().batchSize()).isEqualTo(1);
    assertThat(calls).extracting(call -> call.get().batchSize()).containsExactly(1, 2, 0);
    assertThat(runs).containsExactly(1, 1, 2);
  }

  @Test
  void callsForOtherOutputsDoNotShare() throws Exception {
    var model = put(8);
    var first = startFirst(model);
    var x = numbers(2, WIDTH);
    var shares = start(model, x, Map.of("y", Target.INLINE), RequestContext.OWN);
    var product = start(model, x, Map.of("c", Target.INLINE), RequestContext.OWN);
    var next = start(model, x, Map.of("y", Target.INLINE), RequestContext.OWN);
    release.countDown();
    assertThat(first.get().batchSize()).isEqualTo(1);
    assertThat(shares.get().outputs()).containsOnlyKeys("y");
    assertThat(product.get().outputs()).containsOnlyKeys("c");
    assertThat(next.get().batchSize()).isZero();
    assertThat(runs).containsExactly(1, 2, 1);
  }

  @Test
  void callsOfAFailedRunRunAlone() throws Exception {
    var model = put(8);
    failsShared = true;
    var first = startFirst(model);
    var calls = List.of(start(model, 1), start(model, 2));
    release.countDown();
    assertThat(first.get().batchSize()).isEqualTo(1);
    for (int i = 0; i < calls.size(); i++) {
      assertThat(bits(calls.get(i).get(), "y")).isEqualTo(alone(model, i + 1));
    }
    assertThat(runs).containsExactly(1, 2, 1, 1);
  }

  @Test
  void aCallThatLeavesAffectsNoOther() throws Exception {
    var model = put(8);
    var first = startFirst(model);
    var x = numbers(2, WIDTH);
    var gone = new RequestContext(Tenant.LOCAL, 3, Deadline.none(), () -> true);
    var late = new RequestContext(Tenant.LOCAL, Deadline.in(1));
    var left = List.of(start(model, x, Map.of(), gone), start(model, x, Map.of(), late));
    var others = List.of(start(model, 2), start(model, 3));
    assertThatThrownBy(left.getFirst()::get)
        .hasMessage("the client disconnected; nothing was stored");
    assertThatThrownBy(left.getLast()::get).isInstanceOf(Failure.DeadlineExceeded.class);
    release.countDown();
    assertThat(first.get().batchSize()).isEqualTo(1);
    assertThat(others).extracting(call -> call.get().batchSize()).containsExactly(2, 0);
  }

  @Test
  void inputsThatDoNotFitFailBeforeTheyWait() throws Exception {
    var model = put(8);
    var first = startFirst(model);
    assertThatThrownBy(() -> start(model, 9))
        .hasMessage("input \"x\" is f32[9, 512]; the model is stored for rows of 1-8");
    assertThatThrownBy(() -> start(model, numbers(1, 3), Map.of(), RequestContext.OWN))
        .hasMessage("input \"x\" is f32[1, 3]; the model requires x f32[rows, 512] with {rows=1}");
    release.countDown();
    assertThat(first.get().batchSize()).isEqualTo(1);
    assertThat(runs).containsExactly(1);
  }

  @Test
  void inputsAreHeldUntilTheirRunEnds() throws Exception {
    var model = put(8);
    var first = startFirst(model);
    long before = rig.inline.used();
    try (var memory = rig.inline.open("account")) {
      var x = numbers(2, WIDTH);
      var data = memory.allocate(x.data().byteSize(), Long.BYTES);
      data.copyFrom(x.data());
      var gone = Rig.in(memory, new RequestContext(Tenant.LOCAL, 3, Deadline.none(), () -> true));
      var call = start(model, new HostTensor(x.type(), data), Map.of(), gone);
      assertThatThrownBy(call::get).isInstanceOf(Failure.class);
    }
    release.countDown();
    assertThat(first.get().batchSize()).isEqualTo(1);
    assertThat(start(model, 1).get().batchSize())
        .isEqualTo(1); // the loop has forgotten the call that left
    assertThat(rig.inline.used()).isEqualTo(before);
  }

  private static String graph(String shape, String step) {
    return "{'inputs': {'x': {'dtype': 'f32', 'shape': [%s]}}, 'steps': [{%s, 'outputs': {'y': 's'}}], 'outputs': {'y': 's'}}"
        .formatted(shape, step);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "'rows', 4 | 'op': 'transpose', 'inputs': {'x': 'x'}, 'outputs': {'y': 'a'}}, {'op': 'softmax', 'inputs': {'x': 'a'}, 'outputs': {'y': 'b'}}, {'op': 'transpose', 'inputs': {'x': 'b'} | rows:1-8 | in an example, rows of the output \"y\" depend on the rows that come with them; store the model without batch",
        "'rows', 4 | 'op': 'flip', 'inputs': {'x': 'x'}, 'attributes': {'axes': [0]} | rows:1-8 | in an example, rows of the output \"y\" depend on the rows that come with them; store the model without batch",
        "'rows', 4 | 'op': 'transpose', 'inputs': {'x': 'x'} | rows:1-8 | the output \"y\" is f32[4, 3] for 3 rows; every output must have the extent first",
        "'rows', 4 | 'op': 'softmax', 'inputs': {'x': 'x'} | `` | extents has no range of it; give one, as in extents=rows:1-8",
        "'rows', 4 | 'op': 'softmax', 'inputs': {'x': 'x'} | rows:2-3 | its range is 2-3, which is too small for two calls",
        "4, 'rows' | 'op': 'softmax', 'inputs': {'x': 'x'} | rows:1-8 | the input x f32[4, rows] has another first extent or the same twice; every input must have it first, and no blocks",
        "'rows', 'rows' | 'op': 'softmax', 'inputs': {'x': 'x'} | rows:1-8 | the input x f32[rows, rows] has another first extent or the same twice; every input must have it first, and no blocks",
      })
  void refusesModelsWhoseCallsCannotShareRuns(
      String shape, String step, String extents, String reason) {
    assertThatThrownBy(() -> put(graph(shape, step), extents, "rows"))
        .isInstanceOfSatisfying(
            Failure.class, e -> assertThat(e.field()).isEqualTo(ModelUpload.BATCH))
        .hasMessage("batch is \"rows\", but " + reason);
    assertThat(models.list(Tenant.LOCAL)).isEmpty();
    assertThat(rig.store.of(Tenant.LOCAL).list(10, null, null).tensors()).isEmpty();
  }
}
