package dev.athanor.engine.lift.optimize;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.lift.Gpu;
import dev.athanor.engine.lift.analysis.Dominators;
import dev.athanor.engine.lift.analysis.Loop;
import dev.athanor.engine.lift.analysis.WrittenArrays;
import dev.athanor.engine.lift.bytecode.Lifter;
import dev.athanor.engine.lift.ir.Access;
import dev.athanor.engine.lift.ir.Graph;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Terminator;
import dev.athanor.engine.lift.ir.Value;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Runs each pass on a small method, and looks at what is left. */
class PassesTest {

  private static Graph lift(String name, boolean checked) {
    return lift(name, List.of(), checked);
  }

  private static Graph lift(String name, List<Integer> blockShape, boolean checked) {
    var method =
        Arrays.stream(PassesTest.class.getDeclaredMethods())
            .filter(m -> m.getName().equals(name))
            .findFirst()
            .orElseThrow();
    return Lifter.lift(method, Optional.empty(), name, blockShape, checked, false);
  }

  /** Lifts a method, and runs passes in order. */
  private static Graph after(String name, Pass... passes) {
    var graph = lift(name, false);
    for (var pass : passes) {
      pass.run(graph);
    }
    return graph;
  }

  private static long count(Graph graph, Op op) {
    return graph.instructions().filter(value -> value.is(op)).count();
  }

  private static long branches(Graph graph) {
    return graph.blocks().stream().filter(b -> b.end() instanceof Terminator.Branch).count();
  }

  private static int parameters(Graph graph) {
    return graph.blocks().stream().mapToInt(block -> block.parameters().size()).sum();
  }

  static void counted(int[] a, int n) {
    for (int i = 0; i < n; i++) {
      a[i] = n;
    }
  }

  @Test
  void parametersThatNeverChangeAreRemoved() {
    var before = lift("counted", false);
    assertThat(parameters(before)).isEqualTo(4); // pointer, length, n, i
    assertThat(parameters(after("counted", new RemoveTrivialParameters()))).isEqualTo(1);
  }

  static void twice(int[] a, int i, int j) {
    a[i * j + 1] = a[i * j + 2] + a[i * j + 1];
  }

  @Test
  void equalValuesAreComputedOnce() {
    assertThat(count(lift("twice", false), Op.MUL)).isEqualTo(3);
    var graph = after("twice", new NumberValues());
    assertThat(count(graph, Op.MUL)).isOne();
    assertThat(count(graph, Op.ADDRESS)).isEqualTo(2);
  }

  @Test
  void literalsOfIndicesBecomeOffsets() {
    var graph =
        after(
            "twice",
            new NumberValues(),
            new FoldOffsets(),
            new NumberValues(),
            new RemoveDeadCode());
    assertThat(count(graph, Op.ADDRESS)).isOne();
    assertThat(
            graph
                .instructions()
                .filter(v -> v.is(Op.LOAD))
                .map(v -> v.attribute(Access.class).offset()))
        .containsExactlyInAnyOrder(4L, 8L);
  }

  static void neighbors(int[] a, int row, int i) {
    a[row + (i + 1) * 4] = a[(row - 3) + (i * 4)] + a[row + i * 4];
  }

  @Test
  void literalsWithinSumsAndProductsBecomeOffsets() {
    var graph = after("neighbors", new FoldOffsets(), new NumberValues(), new RemoveDeadCode());
    assertThat(count(graph, Op.ADDRESS)).isOne();
    assertThat(
            graph
                .instructions()
                .filter(v -> v.is(Op.LOAD) || v.is(Op.STORE))
                .map(v -> v.attribute(Access.class).offset()))
        .containsExactlyInAnyOrder(16L, -12L, 0L);
  }

  static void aligned(float[] x, float[] y, int i) {
    y[i] = x[4 * i] + x[4 * i + 1] + x[4 * i + 2] + x[4 * i + 3];
  }

  static void shifted(float[] x, float[] y, int i) {
    y[i] = x[4 * i + 1] + x[4 * i + 2] + x[4 * i + 3] + x[4 * i + 4];
  }

  static void pairs(float[] x, float[] y, int i) {
    y[i] = x[i * 6] + x[i * 6 + 1] + x[i * 6 + 2] + x[i * 6 + 3];
  }

  static void odd(float[] x, float[] y, int i) {
    y[i] = x[3 * i] + x[3 * i + 1] + x[3 * i + 2] + x[3 * i + 3];
  }

  static void gap(float[] x, float[] y, int i) {
    y[i] = x[4 * i] + x[4 * i + 2];
  }

  static void stepped(float[] x, float[] y, int step, int n) {
    for (int i = 4 * step; i < n; i += 8 * step) {
      y[i] = x[i] + x[i + 1] + x[i + 2] + x[i + 3];
    }
  }

  static void masked(float[] x, float[] y, int i, boolean high) {
    int start = (i & ~3) + (high ? 8 : 4);
    y[i] = x[start] + x[start + 1] + x[start + 2] + x[start + 3];
  }

  static void written(float[] x, int i) {
    float first = x[2 * i];
    x[0] = 1;
    x[i] = first + x[2 * i + 1];
  }

  /** Returns the lengths of the loads after neighboring ones have been combined. */
  private static List<Integer> combined(String name, boolean checked) {
    var graph = lift(name, checked);
    for (var pass :
        List.of(
            new RemoveTrivialParameters(),
            new MergeBlocks(),
            new NumberValues(),
            new ConvertIfs(),
            new ReadOnlyLoads(),
            new FoldOffsets(),
            new NumberValues(),
            new CombineLoads(),
            new RemoveDeadCode())) {
      pass.run(graph);
    }
    return graph
        .instructions()
        .filter(v -> v.is(Op.LOAD))
        .map(v -> v.attribute(Access.class).count())
        .sorted()
        .toList();
  }

  @Test
  void alignedNeighborsAreLoadedTogether() {
    assertThat(combined("aligned", false)).containsExactly(4);
    assertThat(combined("shifted", false)).containsExactly(1, 1, 2);
    assertThat(combined("pairs", false)).containsExactly(2, 2);
    assertThat(combined("odd", false)).containsExactly(1, 1, 1, 1);
    assertThat(combined("gap", false)).containsExactly(1, 1);
    assertThat(combined("stepped", false)).containsExactly(4);
    assertThat(combined("masked", false)).containsExactly(4);
  }

  @Test
  void loadsThatStoresOrChecksPartAreNotCombined() {
    assertThat(combined("written", false)).containsExactly(1, 1);
    assertThat(combined("aligned", true)).containsExactly(1, 1, 1, 1);
  }

  static void fourStores(float[] y, int i, float a, float b) {
    y[4 * i + 3] = a;
    y[4 * i] = b;
    y[4 * i + 2] = a + b;
    y[4 * i + 1] = a - b;
  }

  static void overwritten(float[] y, int i, float a, float b) {
    y[2 * i] = a;
    y[2 * i] = b;
    y[2 * i + 1] = a;
  }

  static void readBetween(float[] y, int i, float a) {
    y[2 * i] = a;
    y[2 * i + 1] = y[i];
  }

  static void otherStoreBetween(float[] y, int i, int j, float a) {
    y[2 * i] = a;
    y[j] = 1;
    y[2 * i + 1] = a;
  }

  /** Returns the lengths of the stores after neighboring ones have been combined. */
  private static List<Integer> stores(String name, boolean checked) {
    var graph = lift(name, checked);
    for (var pass :
        List.of(
            new NumberValues(),
            new FoldOffsets(),
            new NumberValues(),
            new CombineStores(),
            new RemoveDeadCode())) {
      pass.run(graph);
    }
    return graph
        .instructions()
        .filter(v -> v.is(Op.STORE))
        .map(v -> v.attribute(Access.class).count())
        .toList();
  }

  @Test
  void alignedNeighborsAreStoredTogether() {
    assertThat(stores("fourStores", false)).containsExactly(4);
    assertThat(stores("overwritten", false)).containsExactly(1, 2);
    assertThat(stores("readBetween", false)).containsExactly(1, 1);
    assertThat(stores("otherStoreBetween", false)).containsExactly(1, 1, 1);
    assertThat(stores("fourStores", true)).containsExactly(1, 1, 1, 1);
  }

  static void total(int[] a, int n) {
    for (int i = 0; i < n; i++) {
      a[0] += a[i];
    }
  }

  static void totalInSteps(int[] a, int n, int step) {
    for (int i = 0; i < n; i += step) {
      a[0] += a[i];
    }
  }

  private static Graph unrolled(String name) {
    return after(name, new RemoveTrivialParameters(), new UnrollPartially());
  }

  static void untilBeforeLast(float[] x, float[] y, int n) {
    float sum = 0;
    for (int i = 0; i < n - 1; i++) {
      sum += x[i];
    }
    y[0] = sum;
  }

  static void row(int[] rows, float[] x, float[] y, int row) {
    float sum = 0;
    for (int k = rows[row]; k < rows[row + 1]; k++) {
      sum += x[k];
    }
    y[row] = sum;
  }

  static void window(float[] x, float[] y, int from, int n) {
    float sum = 0;
    for (int i = from; i < from + n; i++) {
      sum += x[i];
    }
    y[from] = sum;
  }

  static void shrinking(int[] rows, int[] x, int row) {
    for (int k = rows[row]; k < rows[row + 1]; k++) {
      rows[x[k]]--;
    }
  }

  private static int loadedFromX(String name, boolean checked) {
    var graph = lift(name, checked);
    Optimizer.optimize(graph);
    var arrays = WrittenArrays.of(graph);
    return graph
        .instructions()
        .filter(v -> v.is(Op.LOAD) && arrays.roots(v.input(0)).contains("x"))
        .mapToInt(v -> v.attribute(Access.class).count())
        .sum();
  }

  @Test
  void loopsWhoseBoundsAreComputedInThemMakeFourIterationsAtATime() {
    for (var name : List.of("untilBeforeLast", "row", "window")) {
      assertThat(loadedFromX(name, false)).as(name).isEqualTo(5);
      assertThat(loadedFromX(name, true)).as("%s, checked", name).isEqualTo(5);
    }
    assertThat(loadedFromX("shrinking", false)).as("a bound that the loop writes").isOne();
  }

  static void totalDownwards(int[] a, int n, int step) {
    for (int i = n; i >= 0; i -= step) {
      a[0] += a[i];
    }
  }

  static void changingStep(int[] a, int n) {
    for (int i = 1; i < n; i += i) {
      a[0] += a[i];
    }
  }

  static void wrongWay(int[] a, int n) {
    for (int i = 0; i < n; i -= 2) {
      a[0] += a[i];
    }
  }

  @Test
  void loopsThatLoadMakeFourIterationsAtATime() {
    for (var name : List.of("total", "totalInSteps", "totalDownwards")) {
      assertThat(count(unrolled(name), Op.LOAD)).as(name).isEqualTo(2 * 5);
    }
    assertThat(count(unrolled("changingStep"), Op.LOAD)).isEqualTo(2);
    assertThat(count(unrolled("wrongWay"), Op.LOAD)).isEqualTo(2);
    assertThat(count(unrolled("counted"), Op.STORE)).isOne(); // no loads
  }

  private static long bits(long x) {
    x ^= x << 13;
    x ^= x >>> 7;
    x ^= x << 17;
    x ^= x * 5 ^ x >>> 3;
    return x;
  }

  static void hashes(long[] a, int n) {
    for (int i = 0; i < n; i++) {
      a[i] = bits(bits(bits(bits(bits(bits(bits(a[i])))))));
    }
  }

  static void longHashes(long[] a, int n) {
    for (int i = 0; i < n; i++) {
      a[i] = bits(bits(bits(bits(bits(bits(bits(bits(bits(bits(bits(bits(a[i]))))))))))));
    }
  }

  @Test
  void longerLoopsMakeTwoIterationsAtATimeAndTheLongestOne() {
    assertThat(count(unrolled("hashes"), Op.LOAD)).isEqualTo(3);
    assertThat(count(unrolled("longHashes"), Op.LOAD)).isOne();
  }

  static void tiles(float[] x, float[] y, int n) {
    float[] tile = Gpu.sharedFloats(32);
    float sum = 0;
    for (int i = Gpu.blockIdxX(); i < n; i += Gpu.gridDimX()) {
      tile[Gpu.threadIdxX()] = x[i];
      Gpu.barrier();
      sum += tile[i & 31];
      Gpu.barrier();
    }
    y[Gpu.threadIdxX()] = sum;
  }

  static void tilesOfThreads(float[] x, float[] y, int n) {
    float[] tile = Gpu.sharedFloats(32);
    for (int i = Gpu.threadIdxX(); i < n; i += Gpu.blockDimX()) {
      tile[Gpu.threadIdxX()] = x[i];
      Gpu.barrier();
      y[i] = tile[i & 31];
      Gpu.barrier();
    }
  }

  static void exchanged(float[] x, float[] y, int n) {
    float sum = 0;
    for (int i = 0; i < n; i++) {
      sum += Gpu.shuffleXor(x[i], 1);
    }
    y[Gpu.threadIdxX()] = sum;
  }

  static void exchangedByThreads(float[] x, float[] y, int n) {
    for (int i = Gpu.threadIdxX(); i < n; i += 32) {
      y[i] = Gpu.shuffleXor(x[i], 1);
    }
  }

  @Test
  void loopsInWhichThreadsWaitAreUnrolledIfAllMakeTheSameIterations() {
    assertThat(loadedFromX("tiles", false)).isEqualTo(5);
    assertThat(loadedFromX("tilesOfThreads", false)).isOne();
    assertThat(loadedFromX("exchanged", false)).isEqualTo(5);
    assertThat(loadedFromX("exchangedByThreads", false)).isOne();
  }

  @Test
  void equalChecksAreMadeOnce() {
    var graph = lift("twice", true);
    assertThat(count(graph, Op.CHECK)).isEqualTo(3);
    new NumberValues().run(graph);
    assertThat(count(graph, Op.CHECK)).isEqualTo(2);
  }

  @SuppressWarnings("UnusedVariable") // dead code is what the test is about
  static void unused(int[] a, int i) {
    int x = a[i];
    a[0] = i;
    int y = x * i;
  }

  @Test
  void deadCodeIsRemoved() {
    var graph = after("unused", new RemoveDeadCode());
    assertThat(count(graph, Op.MUL) + count(graph, Op.LOAD)).isZero();
    assertThat(count(graph, Op.STORE)).isOne();
  }

  static void select(int[] a, int i) {
    a[0] = i > 3 ? i + 1 : -i;
  }

  @Test
  void smallArmsAreSelected() {
    var graph = after("select", new RemoveTrivialParameters(), new ConvertIfs(), new MergeBlocks());
    assertThat(branches(graph)).isZero();
    assertThat(count(graph, Op.SELECT)).isOne();
  }

  static void both(int[] a, int i, int j) {
    if (i > 3 && j < 4) {
      a[0] = 1;
    }
  }

  @Test
  void conditionsAreJoined() {
    var graph = after("both", new RemoveTrivialParameters(), new MergeBlocks(), new ConvertIfs());
    assertThat(branches(graph)).isOne();
    assertThat(count(graph, Op.AND)).isOne();
  }

  static void four(float[] a, float[] b) {
    float sum = 0;
    for (int i = 0; i < 8; i += 2) {
      sum += a[i];
    }
    b[0] = sum;
  }

  @Test
  void shortLoopsAreUnrolled() {
    var graph = after("four", new RemoveTrivialParameters(), new MergeBlocks());
    assertThat(new UnrollLoops().run(graph)).isTrue();
    new RemoveTrivialParameters().run(graph);
    new MergeBlocks().run(graph);
    new NumberValues().run(graph);
    assertThat(graph.blocks()).hasSize(1);
    assertThat(count(graph, Op.LOAD)).isEqualTo(4);
  }

  static void strided(float[] x, float[] y) {
    for (int i = Gpu.threadIdxY() * 16 + Gpu.threadIdxX(); i < 1024; i += 256) {
      y[i] = x[i] + i % 16;
    }
  }

  static void stridedDown(float[] x, float[] y) {
    for (int i = 1023 - Gpu.threadIdxX(); i >= 0; i -= 16) {
      y[i] = x[i];
    }
  }

  static void uneven(float[] x, float[] y) {
    for (int i = Gpu.threadIdxX(); i < 60; i += 16) {
      y[i] = x[i];
    }
  }

  private static Graph ofBlocks(String name) {
    var graph = lift(name, List.of(16, 16, 1), false);
    Optimizer.optimize(graph);
    return graph;
  }

  @Test
  void loopsOverTheThreadsOfABlockAreUnrolledIfAllMakeTheSameIterations() {
    var graph = ofBlocks("strided");
    assertThat(branches(graph)).isZero();
    assertThat(count(graph, Op.LOAD)).isEqualTo(4);
    assertThat(count(graph, Op.REM)).as("of a number that is not negative").isZero();
    assertThat(branches(ofBlocks("stridedDown"))).isZero();
    assertThat(branches(ofBlocks("uneven"))).isPositive();
  }

  static void invariant(float[] a, float[] weight, int row, int n) {
    for (int i = Gpu.threadIdxX(); i < n; i += 32) {
      a[i] *= weight[row * 7];
    }
  }

  @Test
  void loopsTestAtTheirEndAndInvariantsLeaveThem() {
    var graph =
        after(
            "invariant",
            new RemoveTrivialParameters(),
            new MergeBlocks(),
            new ReadOnlyLoads(),
            new RotateLoops(),
            new RemoveTrivialParameters(),
            new MergeBlocks(),
            new NumberValues(),
            new RemoveDeadCode());
    var loop = Loop.of(graph, new Dominators(graph)).getFirst();
    assertThat(loop.blocks()).hasSize(1);
    assertThat(loads(loop)).isEqualTo(2);
    new HoistInvariants().run(graph);
    loop = Loop.of(graph, new Dominators(graph)).getFirst();
    assertThat(loads(loop)).isOne();
    assertThat(loop.values()).noneMatch(value -> value.is(Op.MUL) && value.type().isInteger());
  }

  private static long loads(Loop loop) {
    return loop.values().stream().filter(value -> value.is(Op.LOAD)).count();
  }

  @Test
  void onlyArraysThatAreNeverWrittenAreReadOnly() {
    var graph = after("invariant", new ReadOnlyLoads());
    assertThat(WrittenArrays.of(graph).names()).containsExactly("a");
    assertThat(graph.instructions().filter(v -> v.is(Op.LOAD)).map(PassesTest::isReadOnly))
        .containsExactlyInAnyOrder(true, false);
  }

  private static boolean isReadOnly(Value load) {
    return load.attribute(Access.class).readOnly();
  }
}
