package dev.athanor.engine.emulator;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.device.Stream;
import dev.athanor.engine.emulator.options.EmulatorOptions;
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
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/** The time of one {@code mma.sync} of a warp within a kernel: a loop of eight, on one core. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class MatrixKernelBenchmark {

  private static final int LOOPS = 1000;
  private static final int MMAS = 8;
  private static final int WARPS = 4;

  private EmulatedDevice device;
  private Stream stream;
  private Launch launch;

  @Setup
  public void load() {
    device = new EmulatedDevice(EmulatorOptions.DEFAULT.withWorkers(1));
    stream = device.openStream();
    var text =
        """
        .version 7.0
        .target sm_80
        .address_size 64
        .visible .entry loop()
        {
        .reg .pred %p; .reg .b32 %i; .reg .b32 %r<6>; .reg .f32 %f<4>;
        mov.u32 %i, 0;
        mov.u32 %r0, 0x3C003C00; mov.u32 %r1, %r0; mov.u32 %r2, %r0; mov.u32 %r3, %r0;
        mov.u32 %r4, 0x04000400; mov.u32 %r5, %r4;
        mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;
        again:
        """
            + """
            mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
              {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%f0, %f1, %f2, %f3};
            """
                .repeat(MMAS)
            + """
            add.u32 %%i, %%i, 1;
            setp.lt.u32 %%p, %%i, %d;
            @%%p bra again;
            ret;
            }
            """
                .formatted(LOOPS);
    launch =
        new Launch(
            device.load(Parser.parse(text, "loop.ptx"), "loop"),
            Dim3.of(1),
            Dim3.of(32 * WARPS),
            0,
            List.of());
  }

  @TearDown
  public void close() {
    device.close();
  }

  @Benchmark
  @OperationsPerInvocation(LOOPS * MMAS * WARPS)
  public void loop() {
    stream.launch(launch);
    stream.synchronize();
  }

  /** The same loop with the Vector API. */
  @Benchmark
  @Fork(value = 1, jvmArgsAppend = "--add-modules=jdk.incubator.vector")
  @OperationsPerInvocation(LOOPS * MMAS * WARPS)
  public void loopWithVectors() {
    loop();
  }
}
