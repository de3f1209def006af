package dev.athanor.engine.emulator;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.device.Stream;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Execution;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.ptx.text.Parser;
import java.lang.foreign.MemorySegment;
import java.util.List;

/** An emulator with helpers for tests. */
public final class Rig implements AutoCloseable {

  /**
   * Test kernels have parameters {@code out}, {@code in} and {@code n}. Before the body, {@code
   * %rd0} and {@code %rd1} are the two addresses, {@code %rd2} and {@code %rd3} those of the
   * thread's 32-bit word, {@code %r0} is the thread, {@code %r1} its index in the grid, and {@code
   * %r2} is n.
   */
  private static final String PROLOGUE =
      """
      .version 7.8
      .target sm_90
      .address_size 64
      .visible .entry test(.param .u64 out, .param .u64 in, .param .u32 n)
      {
      .shared .align 16 .b8 tile[4096];
      .reg .pred %p<8>; .reg .b16 %rs<16>; .reg .b32 %r<64>; .reg .b64 %rd<32>;
      .reg .f32 %f<32>; .reg .f64 %fd<8>;
      ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [in]; ld.param.u32 %r2, [n];
      mov.u32 %r0, %tid.x; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x;
      mad.lo.u32 %r1, %r3, %r4, %r0;
      mul.wide.u32 %rd4, %r1, 4; add.u64 %rd2, %rd0, %rd4; add.u64 %rd3, %rd1, %rd4;
      """;

  /** The first line of the body in the file. */
  static final int FIRST_LINE = 1 + (int) PROLOGUE.lines().count();

  private final EmulatedDevice device;
  private final Stream stream;

  /** Returns the default options; compiled code runs without the sanitizer. */
  public static EmulatorOptions options(Execution execution) {
    var options = EmulatorOptions.DEFAULT.withExecution(execution);
    return execution == Execution.COMPILED ? options.withSanitize(Sanitize.OFF) : options;
  }

  public Rig() {
    this(EmulatorOptions.DEFAULT);
  }

  public Rig(EmulatorOptions options) {
    device = new EmulatedDevice(options);
    stream = device.openStream();
  }

  /** Returns a rig without the sanitizer, for intentionally wrong kernels. */
  public static Rig unwatched() {
    return new Rig(EmulatorOptions.DEFAULT.withSanitize(Sanitize.OFF));
  }

  public Buffer ints(int... values) {
    var buffer = device.allocate(4L * values.length);
    stream.upload(MemorySegment.ofArray(values), buffer, 0);
    return buffer;
  }

  public int[] read(Buffer buffer) {
    var values = new int[(int) (buffer.bytes() / 4)];
    stream.download(buffer, 0, MemorySegment.ofArray(values));
    return values;
  }

  /** Runs a body and returns {@code out}, which has a word per thread. */
  public int[] run(String body, int blocks, int threads, int... in) {
    try (var out = ints(new int[blocks * threads]);
        var input = ints(in.length == 0 ? new int[1] : in)) {
      run(body, Dim3.of(blocks), Dim3.of(threads), out, input, in.length);
      return read(out);
    }
  }

  public void run(String body, Dim3 grid, Dim3 block, Buffer out, Buffer in, int n) {
    run(body, grid, block, Argument.of(out), Argument.of(in), n);
  }

  public void run(String body, Dim3 grid, Dim3 block, Argument out, Argument in, int n) {
    var module = Parser.parse(PROLOGUE + body + "ret;\n}\n", "test.ptx");
    stream.launch(
        new Launch(device.load(module, "test"), grid, block, 0, List.of(out, in, Argument.of(n))));
  }

  public EmulatedDevice device() {
    return device;
  }

  @Override
  public void close() {
    device.close();
  }
}
