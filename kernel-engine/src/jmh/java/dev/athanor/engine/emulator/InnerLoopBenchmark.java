package dev.athanor.engine.emulator;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.device.Stream;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Execution;
import dev.athanor.engine.ptx.text.Parser;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * The time of one converged instruction of a warp in the inner loop of a tiled f32 matrix product:
 * a block of 16 × 16 threads, each of which computes one element, on one core.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 4, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class InnerLoopBenchmark {

  private static final int TILE = 16;
  private static final int TILES = 256;
  private static final int WARPS = TILE * TILE / 32;

  /** Instructions of the inner loop. */
  private static final int INSTRUCTIONS = 8;

  @Param({"INTERPRETED", "COMPILED"})
  public Execution execution;

  private EmulatedDevice device;
  private Stream stream;
  private Launch launch;

  @Setup
  public void load() {
    device = new EmulatedDevice(EmulatorOptions.DEFAULT.withWorkers(1).withExecution(execution));
    stream = device.openStream();
    var text =
        """
        .version 7.0
        .target sm_80
        .address_size 64
        .visible .entry product()
        {
        .shared .align 16 .b8 a[%1$d]; .shared .align 16 .b8 b[%1$d];
        .reg .pred %%p, %%q; .reg .b32 %%r<16>; .reg .f32 %%f<4>;
        mov.u32 %%r0, %%tid.x; mov.u32 %%r1, %%tid.y;
        mov.u32 %%r2, a; mov.u32 %%r3, b;
        mad.lo.u32 %%r4, %%r1, %2$d, %%r0; shl.b32 %%r4, %%r4, 2;
        cvt.rn.f32.u32 %%f0, %%r0;
        add.u32 %%r5, %%r2, %%r4; st.shared.f32 [%%r5], %%f0;
        add.u32 %%r5, %%r3, %%r4; st.shared.f32 [%%r5], %%f0;
        mov.f32 %%f0, 0f00000000;
        mov.u32 %%r6, 0;
        tile:
        bar.sync 0;
        mad.lo.u32 %%r7, %%r1, 4 * %2$d, %%r2; // a row of a
        mad.lo.u32 %%r8, %%r0, 4, %%r3; // a column of b
        mov.u32 %%r9, 0;
        inner:
        ld.shared.f32 %%f1, [%%r7];
        ld.shared.f32 %%f2, [%%r8];
        fma.rn.f32 %%f0, %%f1, %%f2, %%f0;
        add.u32 %%r7, %%r7, 4;
        add.u32 %%r8, %%r8, 4 * %2$d;
        add.u32 %%r9, %%r9, 1;
        setp.lt.u32 %%p, %%r9, %2$d;
        @%%p bra inner;
        add.u32 %%r6, %%r6, 1;
        setp.lt.u32 %%q, %%r6, %3$d;
        @%%q bra tile;
        add.u32 %%r5, %%r2, %%r4; st.shared.f32 [%%r5], %%f0;
        ret;
        }
        """
            .formatted(4 * TILE * TILE, TILE, TILES);
    launch =
        new Launch(
            device.load(Parser.parse(text, "product.ptx"), "product"),
            Dim3.of(1),
            new Dim3(TILE, TILE, 1),
            0,
            List.of());
  }

  @TearDown
  public void close() {
    device.close();
  }

  @Benchmark
  @OperationsPerInvocation(TILES * TILE * INSTRUCTIONS * WARPS)
  public void loop() {
    stream.launch(launch);
    stream.synchronize();
  }
}
