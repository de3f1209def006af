package dev.athanor.ops.attention.decode;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.analysis.Ptxas;
import dev.athanor.engine.analysis.sass.MachineCode;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.AsyncTiming;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.emulator.options.Schedule;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.Mutants;
import dev.athanor.ops.Problem;
import dev.athanor.ops.Runner;
import dev.athanor.ops.Tensors;
import dev.athanor.ops.TestDevices;
import dev.athanor.ops.attention.AttentionProblem;
import dev.athanor.ops.run.HostRun;
import dev.athanor.testing.Programs;
import dev.athanor.testing.TestTier;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Attention over caches by blocks whose warpgroups have roles. */
class WarpgroupDecodeTest {

  private static final EmulatorOptions OPTIONS =
      EmulatorOptions.DEFAULT.withTarget(Target.SM_90A).withSanitize(Sanitize.FULL);

  /** A cache of 300 keys for each head, of which sequences have none, one, some and all. */
  private static final String CONTIGUOUS =
      "q=%1$s[4,%2$d,%3$d,%4$d] kCache=%1$s[4,%5$d,300,%4$d] vCache=%1$s[4,%5$d,300,%4$d] lengths=i32[4] %6$s";

  private static Problem problem(String text) {
    return Problem.parse(Runner.op("attention-decode"), text);
  }

  private static List<LaunchPlan> plans(Problem problem) {
    return problem.plans(TestDevices.SMALL).stream()
        .filter(plan -> plan.kernel().contains("_groups_"))
        .map(LaunchPlan.class::cast)
        .toList();
  }

  private static void write(HostTensor tensor, long at, int value) {
    tensor.type().dtype().writeLong(tensor.data(), at, value);
  }

  /**
   * Returns inputs with lengths. The blocks of a paged cache are in random order, table entries
   * that are not used are invalid, and elements that are not used are NaN or infinite.
   */
  private static Map<String, HostTensor> draw(Problem problem, int... lengths) {
    var random = new SplittableRandom(TestTier.seed());
    var inputs = new HashMap<>(problem.draw(random));
    for (int i = 0; i < lengths.length; i++) {
      write(Tensors.get(inputs, "lengths"), i, lengths[i]);
    }
    if (inputs.containsKey("blockTable")) {
      int blockSize = (int) Tensors.get(inputs, "kCache").type().shape().extent(2);
      shuffle(Tensors.get(inputs, "blockTable"), blockSize, lengths, random);
    }
    var used = DecodeReference.cachedRows(inputs, problem.attributes());
    for (var name : List.of("kCache", "vCache")) {
      var cache = Tensors.get(inputs, name);
      int columns = (int) cache.type().shape().extent(-1);
      for (int row = 0; row < cache.type().shape().elements() / columns; row++) {
        for (int c = 0; c < columns && !used.contains(row); c++) {
          double special = c % 2 == 0 ? Double.NaN : Double.NEGATIVE_INFINITY;
          cache.type().dtype().write(cache.data(), (long) row * columns + c, special);
        }
      }
    }
    return inputs;
  }

  private static void shuffle(
      HostTensor table, int blockSize, int[] lengths, SplittableRandom random) {
    int each = (int) table.type().shape().extent(1);
    var order = IntStream.range(0, lengths.length * each).toArray();
    for (int i = order.length - 1; i > 0; i--) {
      int other = random.nextInt(i + 1);
      int moved = order[other];
      order[other] = order[i];
      order[i] = moved;
    }
    for (int b = 0; b < lengths.length; b++) {
      for (int i = 0; i < each; i++) {
        int invalid = i % 2 == 0 ? -7 : 1 << 30;
        write(
            table, (long) b * each + i, i * blockSize < lengths[b] ? order[b * each + i] : invalid);
      }
    }
  }

  /** Compares every kernel of warpgroups with the reference; returns their names. */
  private static List<String> verify(
      Problem problem, Map<String, HostTensor> inputs, EmulatorOptions options) {
    var exact =
        Objects.requireNonNull(problem.op().reference(inputs, problem.attributes()).get("out"));
    var tolerance = AttentionProblem.tolerance(Tensors.get(inputs, "q").type().dtype());
    var plans = plans(problem);
    try (var device = new EmulatedDevice(options)) {
      var kernels = new KernelCache(device);
      for (var plan : plans) {
        var out = Tensors.get(HostRun.of(device, kernels, plan, inputs).outputs(), "out");
        assertThat(tolerance.error(out.toDoubles(), exact))
            .as(plan.kernel())
            .isLessThanOrEqualTo(tolerance.limit());
      }
    }
    return plans.stream().map(LaunchPlan::kernel).distinct().toList();
  }

  private static List<String> verify(String text, int... lengths) {
    var problem = problem(text);
    return verify(problem, draw(problem, lengths), OPTIONS);
  }

  /** The heads of a single query and those of few queries are rows of a tile. */
  @ParameterizedTest
  @Tag(TestTier.THOROUGH_TAG)
  @CsvSource({
    "f16, 1, 1, 16, 1, '', cache cache_split",
    "bf16, 8, 1, 64, 1, window=77, window_cache window_cache_split",
    "f16, 4, 3, 128, 1, window=40, causal_window_cache causal_window_cache_split"
        + " causal_window_cache_packed causal_window_cache_packed_split",
    "f16, 4, 1, 64, 1, 'mask=f16[4,4,1,300]', mask_f16x2_cache_packed mask_f16x2_cache_packed_split",
    "bf16, 2, 3, 72, 1, 'mask=bool[3,300] window=40', causal_window_mask_boolx2_cache"
        + " causal_window_mask_boolx2_cache_split causal_window_mask_boolx2_cache_packed"
        + " causal_window_mask_boolx2_cache_packed_split"
  })
  void lengthsMatchTheReference(
      String dtype, int heads, int queries, int d, int shared, String attributes, String suffixes) {
    var text = CONTIGUOUS.formatted(dtype, heads, queries, d, shared, attributes);
    assertThat(verify(text, 0, 1, 173, 300))
        .map(kernel -> kernel.replaceAll(".*_groups_64x64x\\d_", ""))
        .containsExactlyInAnyOrder(suffixes.split(" "));
  }

  /** Tiles of several warpgroups, whose queries take turns. */
  @ParameterizedTest
  @Tag(TestTier.THOROUGH_TAG)
  @CsvSource({
    "bf16, 2, 70, 128, 2, ''",
    "f16, 2, 100, 64, 1, window=90",
    "f16, 1, 97, 200, 1, ''",
    "bf16, 4, 20, 72, 1, ''",
    "bf16, 4, 20, 72, 1, 'mask=f32[4,4,1,300]'",
    "f16, 1, 97, 200, 1, 'mask=bool[97,300]'"
  })
  void manyQueriesMatchTheReference(
      String dtype, int heads, int queries, int d, int shared, String attributes) {
    var text = CONTIGUOUS.formatted(dtype, heads, queries, d, shared, attributes);
    assertThat(verify(text, 0, 1, 173, 300)).anyMatch(kernel -> !kernel.contains("_64x"));
  }

  private static Problem paged(
      int blockSize, int heads, int queries, int d, int shared, String attributes) {
    int each = Math.ceilDiv(300, blockSize);
    return problem(
        "q=f16[4,%d,%d,%5$d] kCache=f16[%3$d,%4$d,%6$d,%5$d] vCache=f16[%3$d,%4$d,%6$d,%5$d] lengths=i32[4] blockTable=i32[4,%7$d] %8$s"
            .formatted(heads, queries, 4 * each, shared, d, blockSize, each, attributes));
  }

  /** Blocks are smaller than a tile, as large, larger, or have a part in common with it. */
  @ParameterizedTest
  @CsvSource({
    "8, 2, 1, 16, 2, '', 8",
    "24, 4, 5, 16, 1, window=40, 8",
    "24, 4, 5, 16, 2, 'mask=f16[4,4,5,312]', 8",
    "64, 2, 1, 16, 1, '', 64",
    "128, 8, 1, 72, 1, '', 64"
  })
  void blockTablesMatchTheReference(
      int blockSize, int heads, int queries, int d, int shared, String attributes, int keysOfCopy) {
    var problem = paged(blockSize, heads, queries, d, shared, attributes);
    assertThat(verify(problem, draw(problem, 0, 1, 173, 300), OPTIONS))
        .isNotEmpty()
        .allMatch(kernel -> kernel.contains("_paged" + keysOfCopy));
  }

  @Test
  @Tag(TestTier.THOROUGH_TAG)
  void blockTablesOfManyQueriesMatchTheReference() {
    var problem = paged(16, 2, 70, 128, 1, "");
    assertThat(verify(problem, draw(problem, 0, 71, 173, 300), OPTIONS))
        .anyMatch(kernel -> kernel.contains("_128x176x2_causal_paged16"));
  }

  @Test
  @Tag(TestTier.THOROUGH_TAG)
  void manyKeysMatchTheReference() {
    var text = "q=f16[1,8,1,64] kCache=f16[1,1,4099,64] vCache=f16[1,1,4099,64] lengths=i32[1]";
    assertThat(verify(text, 4097)).isNotEmpty();
  }

  @ParameterizedTest
  @Tag(TestTier.THOROUGH_TAG)
  @EnumSource
  void allTimingsAndSchedulesMatchTheReference(AsyncTiming timing) {
    var problem = paged(24, 4, 3, 16, 1, "");
    var inputs = draw(problem, 0, 1, 173, 300);
    for (var schedule : Schedule.values()) {
      var options =
          OPTIONS.withAsyncTiming(timing).withSchedule(schedule).withSeed(TestTier.seed());
      assertThat(verify(problem, inputs, options)).isNotEmpty();
    }
  }

  /** Queries that see an infinite value get it from its block; others do not. */
  @Test
  void infiniteValuesReachTheirQueries() {
    var problem = paged(24, 4, 5, 16, 1, "window=4");
    var inputs = draw(problem, 0, 1, 173, 300);
    int key = 170;
    int block = (int) Tensors.get(inputs, "blockTable").get(2 * 13 + key / 24);
    var values = Tensors.get(inputs, "vCache");
    values
        .type()
        .dtype()
        .write(values.data(), (block * 24L + key % 24) * 16, Double.POSITIVE_INFINITY);
    assertThat(plans(problem)).isNotEmpty();
    for (var plan : plans(problem)) {
      var out = Tensors.get(Runner.run(plan, inputs), "out");
      for (int row = 0; row < 4 * 4 * 5; row++) {
        int position = 168 + row % 5;
        boolean seen = row / 20 == 2 && key <= position && key > position - 4;
        assertThat(Double.isInfinite(out.get(row * 16L))).as(plan.kernel()).isEqualTo(seen);
        assertThat(out.get(row * 16L + 1)).as(plan.kernel()).isFinite();
      }
    }
  }

  /** A paged cache gives the bits of a contiguous one, and packed heads those of others. */
  @Test
  void bitsDependOnTheOrderOnly() {
    var paged = paged(24, 4, 3, 16, 1, "");
    var inputs = draw(paged, 312, 1, 173, 300);
    var contiguous =
        problem("q=f16[4,4,3,16] kCache=f16[4,1,312,16] vCache=f16[4,1,312,16] lengths=i32[4]");
    var copied = new HashMap<>(contiguous.draw(new SplittableRandom(TestTier.seed())));
    for (var name : List.of("q", "lengths")) {
      copied.put(name, Tensors.get(inputs, name));
    }
    for (var name : List.of("kCache", "vCache")) {
      long bytes = 24L * 16 * DType.F16.bytes();
      for (int page = 0; page < 4 * 13; page++) {
        int entry = (int) Tensors.get(inputs, "blockTable").get(page);
        long block = Math.clamp(entry, 0, 4 * 13 - 1);
        Tensors.get(copied, name)
            .data()
            .asSlice(page * bytes, bytes)
            .copyFrom(Tensors.get(inputs, name).data().asSlice(block * bytes, bytes));
      }
    }
    var outputs = new HashMap<String, HostTensor>();
    Stream.of(Map.entry(paged, inputs), Map.entry(contiguous, copied))
        .forEach(each ->
            plans(each.getKey())
                .forEach(plan -> {
                  var out = Tensors.get(Runner.run(plan, each.getValue()), "out");
                  var other = outputs.putIfAbsent(plan.order(), out);
                  Tensors.equalBits(Objects.requireNonNullElse(other, out), out);
                }));
    // with and without splits
    assertThat(outputs).hasSize(2);
  }

  /** Instructions whose absence the emulator cannot notice. */
  private static final List<String> UNNOTICED =
      List.of(
          // the emulator knows initialized mbarriers everywhere
          "fence.mbarrier_init.release.cluster",
          "fence.mbarrier_init.release.cluster",
          // the first stage of keys is free
          "mbarrier.try_wait.parity.shared::cta.b64",
          // in the loop, a second fence for the assembler
          "wgmma.fence.sync.aligned");

  @Test
  @Tag(TestTier.THOROUGH_TAG)
  void missingSynchronizationIsNoticed() {
    var problem =
        problem(
            "q=f16[1,2,1,16] kCache=f16[40,1,16,16] vCache=f16[40,1,16,16] lengths=i32[1] blockTable=i32[1,40]");
    var inputs = draw(problem, 630);
    var plan =
        plans(problem).stream()
            .filter(each -> !each.kernel().endsWith("_split"))
            .findFirst()
            .orElseThrow();
    var right = Tensors.bytes(Tensors.get(Runner.run(plan, inputs), "out"));
    var unnoticed =
        Mutants.unnoticed(
            plan,
            inputs,
            outputs -> Arrays.equals(Tensors.bytes(Tensors.get(outputs, "out")), right));
    // TileStore is made for any number of tiles, of which there is one here
    assertThat(unnoticed.stream().filter(each -> !each.contains("TileStore.java")))
        .map(each -> each.replaceAll("^\\d+: ([^ ;]+).*", "$1"))
        .containsExactlyInAnyOrderElementsOf(UNNOTICED);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "1 | 20 | 64 | _64x64x8_paged4: copies multiples of 8 keys; blocks have 20",
        "70 | 16 | 64 | _192x128x4_causal_paged16: registers of the warpgroup that copies do not suffice for a block table",
        "1 | 16 | 64 | _128x128x4_paged16: smaller tiles waste less of each block",
        "1 | 16 | 36 | _64x64x8_paged16: rows are aligned to 8 bytes; the tensor memory accelerator requires 16"
      })
  void explainsWhyOtherKernelsAreUsed(int queries, int blockSize, int d, String reason) {
    var plan = paged(blockSize, 4, queries, d, 1, "").plans(TestDevices.H200).getFirst();
    assertThat(plan.explain()).contains(reason);
  }

  /** The assembler neither serializes products nor spills. */
  @ParameterizedTest
  @Tag(TestTier.THOROUGH_TAG)
  @ValueSource(
      strings = {
        "q=f16[2,8,1,64] kCache=f16[2,1,800,64] vCache=f16[2,1,800,64] lengths=i32[2]",
        "q=bf16[2,8,4,128] kCache=bf16[200,1,8,128] vCache=bf16[200,1,8,128] lengths=i32[2] blockTable=i32[2,100] window=77",
        "q=bf16[2,8,100,64] kCache=bf16[200,1,8,64] vCache=bf16[200,1,8,64] lengths=i32[2] blockTable=i32[2,100] window=77",
        "q=f16[2,8,100,64] kCache=f16[2,1,800,64] vCache=f16[2,1,800,64] lengths=i32[2] window=77",
        "q=bf16[2,8,100,128] kCache=bf16[200,1,8,128] vCache=bf16[200,1,8,128] lengths=i32[2] blockTable=i32[2,100] window=77",
        "q=f16[2,8,100,192] kCache=f16[200,1,8,192] vCache=f16[200,1,8,128] lengths=i32[2] blockTable=i32[2,100] window=77",
        "q=bf16[2,8,100,256] kCache=bf16[200,1,8,256] vCache=bf16[200,1,8,256] lengths=i32[2] blockTable=i32[2,100] window=77",
        "q=bf16[2,8,1,128] kCache=bf16[2,1,800,128] vCache=bf16[2,1,800,128] lengths=i32[2] mask=bool[2,1,1,800]",
        "q=f16[2,8,100,64] kCache=f16[200,1,8,64] vCache=f16[200,1,8,64] lengths=i32[2] blockTable=i32[2,100] mask=f16[100,800] window=77",
        "q=f16[2,8,100,256] kCache=f16[200,1,8,256] vCache=f16[200,1,8,256] lengths=i32[2] blockTable=i32[2,100] mask=f32[2,8,100,800]"
      })
  void assemblesWithoutAdvisories(String text) {
    var assembler = Programs.require(Ptxas.find(), "ptxas", "install a CUDA toolkit");
    for (var plan : plans(problem(text))) {
      var module = Module.of(plan.steps().getFirst().variant().build()).toString();
      var machine = MachineCode.of(assembler, module, Target.SM_90A);
      assertThat(machine.warnings()).as(plan.kernel()).isEmpty();
      assertThat(machine.of(plan.kernel()).usage().spillStoreBytes()).as(plan.kernel()).isZero();
    }
  }
}
