package dev.athanor.engine.ptx;

import dev.athanor.engine.ptx.meaning.MatrixProduct;
import dev.athanor.engine.ptx.table.InstructionTable;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/** The time of one {@code mma.sync} of a warp, from registers to registers. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class MatrixProductBenchmark {

  @Param({
    "m16n8k16.row.col.f32.f16.f16.f32",
    "m16n8k16.row.col.f32.bf16.bf16.f32",
    "m16n8k8.row.col.f32.tf32.tf32.f32",
    "m16n8k32.row.col.f32.e4m3.e4m3.f32",
    "m16n8k32.row.col.s32.s8.s8.s32"
  })
  public String spelling;

  private WarpFunction function;
  private WarpFunction.Call call;
  private int[][] sources;
  private int[][] results;

  /** Fills the source registers with small numbers of any type. */
  @Setup
  public void fill() {
    var words = Arrays.stream(("sync.aligned." + spelling).split("\\.")).map(Modifier::of).toList();
    var modifiers =
        InstructionTable.all().stream()
            .filter(row -> row.mnemonic().equals("mma"))
            .flatMap(row -> row.match(words).stream())
            .findFirst()
            .orElseThrow();
    call = new WarpFunction.Call(modifiers, Target.SM_90, -1);
    function = MatrixProduct.MMA.bind(modifiers, Target.SM_90);
    var random = new Random(1);
    sources = new int[10][32];
    for (var row : sources) {
      Arrays.setAll(row, _ -> 0x3030_3030 | (random.nextInt() & 0x0707_0707));
    }
    results = new int[4][32];
  }

  @Benchmark
  public int[][] multiply() {
    function.apply(call, sources, results);
    return results;
  }
}
