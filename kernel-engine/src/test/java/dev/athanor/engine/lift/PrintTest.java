package dev.athanor.engine.lift;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.analysis.Assemblers;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Execution;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.lift.intrinsic.JavaFormat;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.check.Verifier;
import dev.athanor.engine.ptx.legal.Legalizer;
import dev.athanor.engine.ptx.text.Parser;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** {@code Gpu.print} writes the same text in plain Java and on the emulator. */
class PrintTest {

  private static final String INTEGERS = "%d|%6d|%-6d|%06d|%+d|% d|%x|%X|%#x|%o|%#o|%#010x|%%|";

  @GpuKernel(blockSize = 1)
  static void integers(int[] v) {
    for (int i = 0; i < v.length; i++) {
      int n = v[i];
      Gpu.print(INTEGERS, n, n, n, n, n, n, n, n, n, n, n, n);
      Gpu.print("%n");
    }
  }

  @GpuKernel(blockSize = 1)
  static void longs(long[] v) {
    for (int i = 0; i < v.length; i++) {
      Gpu.print("%d|%22d|%x|%X|%#o|%d%n", v[i], v[i], v[i], v[i], v[i], i);
    }
  }

  @GpuKernel(blockSize = 1)
  static void narrow(short[] v, byte[] b, char[] c) {
    for (int i = 0; i < v.length; i++) {
      Gpu.print("%d|%x|%o|%d|%x|%X|", v[i], v[i], v[i], b[i], b[i], b[i]);
      Gpu.print("%o|%c|%3c|%-3c|%c%n", b[i], c[i], c[i], c[i], 'a' + i);
    }
  }

  @GpuKernel(blockSize = 1)
  static void reals(double[] v) {
    for (int i = 0; i < v.length; i++) {
      double d = v[i];
      Gpu.print("%f|%e|%g|%.2f|%.0f|%+.3e|%12.4f|%-12.1e|%a%n", d, d, d, d, d, d, d, d, d);
      float f = (float) d;
      Gpu.print("%f|%e|%g|%E|%G|%.9f%n", f, f, f, f, f, f);
    }
  }

  @GpuKernel(blockSize = 1)
  static void invalidOperations(double[] v) {
    float f = (float) v[0];
    float g = (float) v[1];
    Gpu.print("%f %f %f %f %g%n", v[0] / v[1], Math.sqrt(-1 - v[0]), 1 / v[0], f / g, -1 / f);
  }

  private static void log(String format, int n) {
    Gpu.print(format, n);
    Gpu.print(format, -n);
  }

  @GpuKernel(blockSize = 1)
  static void mixed(int n, double d, long l, float f, byte b) {
    Gpu.print("no values, \u00b5 and \u20ac%n");
    Gpu.print("");
    Gpu.print("%d %f %d %d %g %d %c%n", n, d, n, l, f, b, 'x');
    Gpu.print("%d %d %d %d %.1f %x%n", 1, 2L, (byte) 3, (short) 4, 5f, (short) -1);
    Gpu.print("%d %d%n", n > 3 ? n : -n, n > 3 && l > 3 ? l : b);
    log("<%3d>", n);
    String format = "%d\n";
    Gpu.print(format, Integer.valueOf(n));
  }

  @GpuKernel(blockSize = 1)
  static void loopInAValue(int[] a) {
    Gpu.print(
        "%d %d %d%n",
        a[0],
        switch (a[1]) {
          case 1 -> {
            int sum = 0;
            for (int i = 0; i < a.length; i++) {
              sum += a[i];
            }
            yield sum;
          }
          default -> a[2] > 0 && a[3] > 0 ? 2 : 3;
        },
        a[1]);
  }

  @GpuKernel(blockSize = 64)
  static void threads(int[] written) {
    int thread = Gpu.threadIdxX();
    for (int i = 0; i < 3; i++) {
      Gpu.print("thread %d.%d turn %d%n", Gpu.blockIdxX(), thread, i);
    }
    if (thread % 3 == 0) {
      Gpu.print("thread %d.%d has a third%n", Gpu.blockIdxX(), thread);
    } else if (thread > 40) {
      Gpu.print("thread %d.%d is late%n", Gpu.blockIdxX(), thread);
      return;
    }
    int unused = thread * 2;
    for (int i = 0; i < thread % 5; i++) {
      Gpu.print("thread %d.%d loop %d%n", Gpu.blockIdxX(), thread, unused + i);
    }
    written[thread + 64 * Gpu.blockIdxX()] = thread;
    Gpu.print("thread %d.%d ends%n", Gpu.blockIdxX(), thread);
  }

  @GpuKernel(blockSize = 32)
  static void checked(int[] v) {
    Gpu.print("%d before%n", Gpu.threadIdxX());
    v[Gpu.threadIdxX()] = 1;
    Gpu.print("%d after%n", Gpu.threadIdxX());
  }

  private static String inJava(JavaKernel kernel, int blocks, Object... arguments) {
    var text = new StringBuilder();
    kernel.inJava().output(text::append).launch(blocks, arguments);
    return text.toString();
  }

  private static String emulated(
      JavaKernel kernel, EmulatorOptions options, int blocks, Object... arguments) {
    var text = new StringBuilder();
    try (var device = new EmulatedDevice(options.withOutput(text::append))) {
      kernel.on(device).launch(blocks, arguments);
    }
    return text.toString();
  }

  /** Returns the outputs of all ways to run a kernel. */
  private static List<String> outputs(JavaKernel kernel, int blocks, Object... arguments) {
    var all = EmulatorOptions.DEFAULT;
    return Stream.concat(
            Stream.of(
                inJava(kernel, blocks, arguments),
                emulated(kernel.debugged(), all, blocks, arguments)),
            Stream.of(
                    all.withExecution(Execution.COMPILED),
                    all.withExecution(Execution.INTERPRETED).withSanitize(Sanitize.FULL))
                .map(options -> emulated(kernel, options, blocks, arguments)))
        .toList();
  }

  private static void check(String expected, JavaKernel kernel, Object... arguments) {
    assertThat(outputs(kernel, 1, arguments))
        .hasSize(4)
        .allSatisfy(text -> assertThat(text).isEqualTo(expected));
  }

  @Test
  void integersAreFormattedAsInJava() {
    int[] v = {1, -1, 7, 123456, -123456789, Integer.MAX_VALUE, Integer.MIN_VALUE};
    var expected = new StringBuilder();
    for (int n : v) {
      expected
          .append(String.format(Locale.ROOT, INTEGERS, n, n, n, n, n, n, n, n, n, n, n, n))
          .append('\n');
    }
    check(expected.toString(), Kernels.of(PrintTest::integers), (Object) v);
  }

  @Test
  void longsAreFormattedAsInJava() {
    long[] v = {1, -1, 1L << 40, -123456789012345L, Long.MAX_VALUE, Long.MIN_VALUE};
    var expected = new StringBuilder();
    for (int i = 0; i < v.length; i++) {
      expected.append(
          String.format(Locale.ROOT, "%d|%22d|%x|%X|%#o|%d\n", v[i], v[i], v[i], v[i], v[i], i));
    }
    check(expected.toString(), Kernels.of(PrintTest::longs), (Object) v);
  }

  @Test
  void narrowNumbersAreFormattedAsInJava() {
    short[] v = {0, 1, -1, Short.MAX_VALUE, Short.MIN_VALUE};
    byte[] b = {0, 1, -1, Byte.MAX_VALUE, Byte.MIN_VALUE};
    char[] c = {'A', ' ', '%', '~', '0'};
    var expected = new StringBuilder();
    for (int i = 0; i < v.length; i++) {
      expected.append(
          String.format(Locale.ROOT, "%d|%x|%o|%d|%x|%X|", v[i], v[i], v[i], b[i], b[i], b[i]));
      expected.append(
          String.format(Locale.ROOT, "%o|%c|%3c|%-3c|%c\n", b[i], c[i], c[i], c[i], 'a' + i));
    }
    check(expected.toString(), Kernels.of(PrintTest::narrow), v, b, c);
  }

  /** The text is that of glibc's printf. */
  @Test
  void realsAreFormattedAsInC() {
    double[] v = {
      0,
      -0.0,
      0.5,
      1.5,
      -2.675,
      123456789.125,
      1e-5,
      1e20,
      Double.MIN_VALUE,
      Double.NaN,
      Double.POSITIVE_INFINITY,
      Double.NEGATIVE_INFINITY
    };
    check(
        """
        0.000000|0.000000e+00|0|0.00|0|+0.000e+00|      0.0000|0.0e+00     |0x0p+0
        0.000000|0.000000e+00|0|0.000000E+00|0|0.000000000
        -0.000000|-0.000000e+00|-0|-0.00|-0|-0.000e+00|     -0.0000|-0.0e+00    |-0x0p+0
        -0.000000|-0.000000e+00|-0|-0.000000E+00|-0|-0.000000000
        0.500000|5.000000e-01|0.5|0.50|0|+5.000e-01|      0.5000|5.0e-01     |0x1p-1
        0.500000|5.000000e-01|0.5|5.000000E-01|0.5|0.500000000
        1.500000|1.500000e+00|1.5|1.50|2|+1.500e+00|      1.5000|1.5e+00     |0x1.8p+0
        1.500000|1.500000e+00|1.5|1.500000E+00|1.5|1.500000000
        -2.675000|-2.675000e+00|-2.675|-2.67|-3|-2.675e+00|     -2.6750|-2.7e+00    |-0x1.5666666666666p+1
        -2.675000|-2.675000e+00|-2.675|-2.675000E+00|-2.675|-2.674999952
        123456789.125000|1.234568e+08|1.23457e+08|123456789.12|123456789|+1.235e+08|123456789.1250|1.2e+08     |0x1.d6f34548p+26
        123456792.000000|1.234568e+08|1.23457e+08|1.234568E+08|1.23457E+08|123456792.000000000
        0.000010|1.000000e-05|1e-05|0.00|0|+1.000e-05|      0.0000|1.0e-05     |0x1.4f8b588e368f1p-17
        0.000010|1.000000e-05|1e-05|1.000000E-05|1E-05|0.000010000
        100000000000000000000.000000|1.000000e+20|1e+20|100000000000000000000.00|100000000000000000000|+1.000e+20|100000000000000000000.0000|1.0e+20     |0x1.5af1d78b58c4p+66
        100000002004087734272.000000|1.000000e+20|1e+20|1.000000E+20|1E+20|100000002004087734272.000000000
        0.000000|4.940656e-324|4.94066e-324|0.00|0|+4.941e-324|      0.0000|4.9e-324    |0x0.0000000000001p-1022
        0.000000|0.000000e+00|0|0.000000E+00|0|0.000000000
        nan|nan|nan|nan|nan|+nan|         nan|nan         |nan
        nan|nan|nan|NAN|NAN|nan
        inf|inf|inf|inf|inf|+inf|         inf|inf         |inf
        inf|inf|inf|INF|INF|inf
        -inf|-inf|-inf|-inf|-inf|-inf|        -inf|-inf        |-inf
        -inf|-inf|-inf|-INF|-INF|-inf
        """,
        Kernels.of(PrintTest::reals),
        (Object) v);
  }

  @Test
  void nansHaveNoSign() {
    check("nan nan inf nan -inf\n", Kernels.of(PrintTest::invalidOperations), new double[2]);
  }

  @Test
  void valuesAreAlignedAsInC() {
    check(
        """
        no values, \u00b5 and \u20ac
        5 0.250000 5 6000000000 1.5 -7 x
        1 2 3 4 5.0 ffff
        5 6000000000
        <  5>< -5>5
        """,
        Kernels.of(PrintTest.class, "mixed"),
        5,
        0.25,
        6_000_000_000L,
        1.5f,
        (byte) -7);
  }

  @Test
  void valuesMayBranch() {
    var kernel = Kernels.of(PrintTest::loopInAValue);
    check("5 18 1\n", kernel, (Object) new int[] {5, 1, 4, 8});
    check("5 2 3\n", kernel, (Object) new int[] {5, 3, 4, 8});
    check("5 3 3\n", kernel, (Object) new int[] {5, 3, 4, -8});
  }

  private static List<String> expected(int block, int thread) {
    var name = "thread %d.%d ".formatted(block, thread);
    var lines = new ArrayList<String>();
    IntStream.range(0, 3).forEach(i -> lines.add(name + "turn " + i));
    if (thread % 3 == 0) {
      lines.add(name + "has a third");
    } else if (thread > 40) {
      lines.add(name + "is late");
      return lines;
    }
    IntStream.range(0, thread % 5).forEach(i -> lines.add(name + "loop " + (2 * thread + i)));
    lines.add(name + "ends");
    return lines;
  }

  /** Each call is a line, whatever the other threads do, and those of a thread are in order. */
  @Test
  void threadsPrintTheirLinesInOrder() {
    int blocks = 3;
    for (var text :
        outputs(Kernels.of(PrintTest::threads), blocks, (Object) new int[64 * blocks])) {
      var lines = text.lines().toList();
      int found = 0;
      for (int block = 0; block < blocks; block++) {
        for (int thread = 0; thread < 64; thread++) {
          var name = "thread %d.%d ".formatted(block, thread);
          var wanted = expected(block, thread);
          assertThat(lines.stream().filter(line -> line.startsWith(name))).isEqualTo(wanted);
          found += wanted.size();
        }
      }
      assertThat(lines).hasSize(found);
    }
  }

  @Test
  void theTextBeforeAFailedCheckIsPrinted() {
    var text = new StringBuilder();
    var kernel = Kernels.of(PrintTest::checked);
    try (var device = new EmulatedDevice(EmulatorOptions.DEFAULT.withOutput(text::append))) {
      assertThatThrownBy(() -> kernel.on(device).launch(1, (Object) new int[20]))
          .isInstanceOf(CheckFailedException.class);
    }
    assertThat(text.toString().lines().filter(line -> line.endsWith("before"))).hasSize(32);
    assertThat(text.toString().lines().filter(line -> line.endsWith("after"))).hasSize(20);
  }

  @Test
  void lambdasPrint() {
    var text = new StringBuilder();
    try (var device = new EmulatedDevice(EmulatorOptions.DEFAULT.withOutput(text::append))) {
      var x = new float[] {1.5f, 2.5f};
      Kernels.forEach(device, x.length, i -> Gpu.print("x[%d] = %.2f%n", i, x[i]));
    }
    assertThat(text.toString().lines()).containsExactlyInAnyOrder("x[0] = 1.50", "x[1] = 2.50");
  }

  @Test
  void aWrongFormatFailsInPlainJavaToo() {
    assertThatThrownBy(() -> Gpu.print("%d", 1.5f))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("`%d` does not format the type float");
    assertThatThrownBy(() -> Gpu.print("%d", "text"))
        .hasMessage("`%d` does not format the type String");
    assertThatThrownBy(() -> JavaFormat.print("%d", (Object) null))
        .hasMessage("`%d` does not format null");
    assertThatThrownBy(() -> Gpu.print("%d", 1, 2)).hasMessage("it has 1 conversion for 2 values");
  }

  @Test
  void printsToTheStandardOutputByDefault() {
    var bytes = new ByteArrayOutputStream();
    var before = System.out;
    System.setOut(new PrintStream(bytes, true, StandardCharsets.UTF_8));
    try {
      Gpu.print("outside%n");
      Kernels.of(PrintTest::invalidOperations).inJava().launch(1, new double[2]);
    } finally {
      System.setOut(before);
    }
    assertThat(bytes.toString(StandardCharsets.UTF_8)).isEqualTo("outside\nnan nan inf nan -inf\n");
  }

  private static List<JavaKernel> kernels() {
    return Stream.of(
            "integers",
            "longs",
            "narrow",
            "reals",
            "invalidOperations",
            "mixed",
            "threads",
            "checked")
        .map(name -> Kernels.of(PrintTest.class, name))
        .toList();
  }

  @Test
  void ptxIsReadBackAsPrinted() {
    for (var kernel : kernels()) {
      for (var module : Arrays.asList(kernel.module(true), kernel.debugged().module(false))) {
        Verifier.verify(module);
        var text = module.toString();
        var again = Parser.parse(text, "print.ptx");
        assertThat(again.functions()).isEqualTo(module.functions());
        assertThat(again.toString()).isEqualTo(text);
      }
    }
  }

  /** The assembler of CUDA 12.0, which is always here, is the last for sm_70. */
  @Test
  void assemblesForAllTargets() {
    for (var kernel : kernels()) {
      assertThat(kernel.prints()).isTrue();
      for (var name : List.of("sm_70", "sm_75", "sm_80", "sm_90")) {
        var target = Target.of(name);
        var module = Legalizer.legalize(kernel.module(true), target);
        var code = Assemblers.library().assemble(module.toString(), target);
        assertThat(code.warnings()).isEmpty();
        assertThat(code.cubin()).isNotEmpty();
      }
    }
  }

  @GpuKernel(blockSize = 1)
  static void small(int n, double d) {
    Gpu.print("%d %f%n", n, d);
  }

  /** As nvcc calls it: C's variable arguments in local memory, and two pointers. */
  @Test
  void callsVprintf() {
    assertThat(Kernels.of(PrintTest::small).module(false).toString())
        .isEqualTo(
            """
            .version 7.4
            .target sm_80
            .address_size 64

            .extern .func (.param .b32 result) vprintf(.param .b64 argument0, .param .b64 argument1);

            .const .align 16 .s8 const0[7] = {37, 100, 32, 37, 102, 10, 0};

            .visible .entry small(
                .param .s32 n,
                .param .f64 d
            )
            .reqntid 1, 1, 1
            {
                .local .align 8 .b8 $values[256];
                .param .align 8 .b64 $format;
                .param .align 8 .b64 $arguments;
                .reg .f64 %fd<2>;
                .reg .pred %p<1>;
                .reg .b32 %r<1>;
                .reg .b64 %rd<3>;
                ld.param.s32 %r0, [n];
                ld.param.f64 %fd0, [d];
                mov.u64 %rd0, const0;
                setp.neu.f64 %p0, %fd0, %fd0;
                selp.f64 %fd1, 0d7FF8000000000000, %fd0, %p0;
                cvta.const.u64 %rd1, %rd0;
                st.local.b32 [$values], %r0;
                st.local.b64 [$values+8], %fd1;
                cvta.local.u64 %rd2, $values;
                st.param.b64 [$format], %rd1;
                st.param.b64 [$arguments], %rd2;
                call (_), vprintf, ($format, $arguments);
                ret;
            }
            """);
  }
}
