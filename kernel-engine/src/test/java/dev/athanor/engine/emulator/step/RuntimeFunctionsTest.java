package dev.athanor.engine.emulator.step;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.DeviceException.KernelFault;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.device.Report;
import dev.athanor.engine.device.Stream;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Execution;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.emulator.options.Schedule;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Samples;
import dev.athanor.engine.ptx.text.Parser;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Calls of the CUDA device runtime, in kernels of nvcc and handwritten ones. */
class RuntimeFunctionsTest {

  /** The compilation and execution of a kernel. */
  record Way(String target, Execution execution, Sanitize sanitize, int workers) {}

  static List<Way> ways() {
    var all = new ArrayList<Way>();
    for (var target : List.of("sm_80", "sm_90")) {
      all.add(new Way(target, Execution.INTERPRETED, Sanitize.FULL, 1));
      all.add(new Way(target, Execution.INTERPRETED, Sanitize.OFF, 2));
      all.add(new Way(target, Execution.COMPILED, Sanitize.OFF, 1));
      all.add(new Way(target, Execution.COMPILED, Sanitize.OFF, 3));
    }
    return all;
  }

  /** An emulator with a module, and its output. */
  private static final class Machine implements AutoCloseable {
    final StringBuilder printed = new StringBuilder();
    final EmulatedDevice device;
    final Stream stream;
    final Module module;

    Machine(String text, EmulatorOptions options) {
      device = new EmulatedDevice(options.withOutput(printed::append));
      stream = device.openStream();
      module = Parser.parse(text, "test.ptx");
    }

    static Machine of(Way way) {
      return new Machine(
          Samples.text("k13_runtime.%s.ptx".formatted(way.target)),
          EmulatorOptions.DEFAULT
              .withExecution(way.execution)
              .withSanitize(way.sanitize)
              .withWorkers(way.workers));
    }

    void launch(String kernel, int blocks, int threads, Argument... arguments) {
      stream.launch(
          new Launch(
              device.load(module, kernel),
              Dim3.of(blocks),
              Dim3.of(threads),
              0,
              List.of(arguments)));
    }

    /**
     * Launches a kernel whose first argument is a buffer with a word per thread, and returns the
     * words.
     */
    int[] words(String kernel, int blocks, int threads, Argument... others) {
      try (var out = device.allocate(4L * blocks * threads)) {
        stream.fill(out, 0, out.bytes(), (byte) 0);
        var all = new ArrayList<Argument>(List.of(Argument.of(out)));
        all.addAll(List.of(others));
        launch(kernel, blocks, threads, all.toArray(Argument[]::new));
        var words = new int[blocks * threads];
        stream.download(out, 0, MemorySegment.ofArray(words));
        return words;
      }
    }

    @Override
    public void close() {
      device.close();
    }
  }

  @ParameterizedTest
  @MethodSource("ways")
  void printsInBlockOrderAndReturnsTheArgumentCount(Way way) {
    try (var machine = Machine.of(way)) {
      var returned = machine.words("hello", 5, 32, Argument.of(150));
      assertThat(returned)
          .containsExactly(IntStream.range(0, 160).map(i -> i < 150 ? 7 : 0).toArray());
      assertThat(machine.printed.toString())
          .isEqualTo(
              IntStream.range(0, 150)
                  .mapToObj(i ->
                      "thread %d of 150: %5.2f %s %c %d 0x10 100%%\n"
                          .formatted(
                              i,
                              i * 0.5,
                              i % 2 == 1 ? "odd" : "even",
                              // a non-ASCII byte in the text is not a character
                              97 + i < 128 ? (char) (97 + i) : '\uFFFD',
                              (long) i << 40))
                  .collect(Collectors.joining()));
      machine.printed.setLength(0);
      machine.launch("plain", 2, 1);
      assertThat(machine.printed.toString()).isEqualTo("no arguments\n".repeat(2));
    }
  }

  @ParameterizedTest
  @MethodSource("ways")
  void reportsFailedAssertions(Way way) {
    try (var machine = Machine.of(way);
        var in = machine.device.allocate(4 * 64)) {
      machine.stream.upload(MemorySegment.ofArray(IntStream.range(0, 64).toArray()), in, 0);
      machine.launch("check", 2, 32, Argument.of(in), Argument.of(64));
      var fault =
          catchThrowableOfType(
              KernelFault.class,
              () -> machine.launch("check", 2, 32, Argument.of(in), Argument.of(63)));
      var found = fault.findings().getFirst();
      assertThat(fault.findings()).hasSize(1);
      assertThat(found.kind()).isEqualTo(Report.Kind.ASSERTION);
      assertThat(found.place().thread()).isEqualTo(new Report.Index(31, 0, 0));
      assertThat(found.place().block()).isEqualTo(new Report.Index(1, 0, 0));
      assertThat(found.what())
          .isEqualTo("rt.cu:12: void check(const int *, int): Assertion 'in[i] < n' failed");
    }
  }

  @ParameterizedTest
  @MethodSource("ways")
  void mallocAndFree(Way way) {
    try (var machine = Machine.of(way)) {
      assertThat(machine.words("heap", 4, 64, Argument.of(0)))
          .containsExactly(IntStream.range(0, 256).map(i -> i * (i + 1) / 2).toArray());
      assertThat(machine.words("list", 4, 64))
          .containsExactly(IntStream.range(0, 256).map(i -> 10 * i).toArray());
      try (var sums = machine.device.allocate(8 * 64)) {
        machine.launch("arrays", 2, 32, Argument.of(sums), Argument.of(100));
        var values = new double[64];
        machine.stream.download(sums, 0, MemorySegment.ofArray(values));
        assertThat(values).containsOnly(99 * 100 / 2 * 0.5);
      }
    }
  }

  private static final String DECLARATIONS =
      """
      .version 8.0
      .target sm_80
      .address_size 64
      .extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
      .extern .func (.param .b64 r) malloc(.param .b64 n);
      .extern .func free(.param .b64 p);
      .global .align 1 .b8 line[17] = "0123456789abcde\\n";
      """
          .replace(
              "\"0123456789abcde\\n\"",
              "{48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 97, 98, 99, 100, 101, 10, 0}");

  private static Machine machine(String kernels, EmulatorOptions options) {
    return new Machine(DECLARATIONS + kernels, options);
  }

  @Test
  void fullBufferReportsDroppedOutput() {
    var kernel =
        """
        .visible .entry k(.param .u32 n)
        {
          .reg .b32 %r<4>; .reg .b64 %rd<2>; .reg .pred %p;
          .param .b64 f; .param .b64 a; .param .b32 r;
          ld.param.u32 %r0, [n];
          mov.u64 %rd0, line;
        $loop:
          st.param.b64 [f], %rd0; st.param.b64 [a], 0;
          call (r), vprintf, (f, a);
          sub.u32 %r0, %r0, 1;
          setp.ne.u32 %p, %r0, 0;
          @%p bra $loop;
          ret;
        }
        """;
    int calls =
        PrintBuffer.CAPACITY / 16 / 4; // this many calls of each of four blocks fill the buffer
    for (int workers : new int[] {1, 3}) {
      try (var machine =
          machine(
              kernel, EmulatorOptions.DEFAULT.withSanitize(Sanitize.OFF).withWorkers(workers))) {
        machine.launch("k", 4, 1, Argument.of(calls));
        assertThat(machine.printed.toString()).isEqualTo("0123456789abcde\n".repeat(4 * calls));
        machine.printed.setLength(0);
        machine.launch("k", 5, 1, Argument.of(calls));
        assertThat(machine.printed)
            .hasToString(
                "0123456789abcde\n".repeat(4 * calls)
                    + "[printf buffer full: a launch keeps 1048576 bytes; the output of "
                    + calls
                    + " calls was dropped]\n");
      }
    }
  }

  private static final String HOARD =
      """
      .visible .entry hoard(.param .u64 out, .param .u64 bytes)
      {
        .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p;
        ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [bytes];
        mov.u32 %r0, 0;
      $loop:
        call (%rd2), malloc, (%rd1);
        setp.eq.u64 %p, %rd2, 0;
        @%p bra $none;
        add.u32 %r0, %r0, 1;
        bra $loop;
      $none:
        st.global.u32 [%rd0], %r0;
        ret;
      }
      """;

  @Test
  void fullHeapReturnsNullAndReportsLeaks() {
    var options = EmulatorOptions.DEFAULT.withSanitize(Sanitize.MEMORY).withHeapBytes(1 << 16);
    var machine = machine(HOARD, options);
    try (machine) {
      // each allocation but the last also takes a gap of 16 bytes
      assertThat(machine.words("hoard", 1, 1, Argument.of(8176L))).containsExactly(8);
      assertThat(machine.printed).isEmpty();
    }
    assertThat(machine.printed.toString())
        .startsWith(
            "device heap: 8 blocks of 65408 bytes in all were never freed; the first, of 8176"
                + " bytes, was allocated by thread (0,0,0) of block (0,0,0) of kernel hoard, \"call"
                + " (%rd2), malloc, (%rd1)\" at test.ptx:14:3");
  }

  @Test
  void heapIsEightMegabytesAndPersists() {
    try (var machine = machine(HOARD, EmulatorOptions.DEFAULT.withSanitize(Sanitize.OFF))) {
      int most = (8 << 20) / ((64 << 10) + 16);
      assertThat(machine.words("hoard", 1, 1, Argument.of(64L << 10))).containsExactly(most);
      assertThat(machine.words("hoard", 1, 1, Argument.of(64L << 10))).containsExactly(0);
      assertThat(machine.words("hoard", 1, 1, Argument.of(0L))).containsExactly(0);
      assertThat(machine.words("hoard", 1, 1, Argument.of(-1L))).containsExactly(0);
    }
  }

  @Test
  void reusedHeapBlocksAreNoRace() {
    var kernel =
        """
        .visible .entry k(.param .u64 out)
        {
          .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .pred %p;
          ld.param.u64 %rd0, [out];
          mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x;
          mad.lo.u32 %r1, %r1, %r2, %r0;
          mul.wide.u32 %rd3, %r1, 4; add.u64 %rd0, %rd0, %rd3;
          mov.u32 %r3, 50;
        $loop:
          call (%rd1), malloc, (64);
          st.u32 [%rd1+60], %r3;
          ld.u32 %r4, [%rd1+60];
          call free, (%rd1);
          sub.u32 %r3, %r3, 1;
          setp.ne.u32 %p, %r3, 0;
          @%p bra $loop;
          st.global.u32 [%rd0], %r4;
          ret;
        }
        """;
    var options =
        EmulatorOptions.DEFAULT
            .withSanitize(Sanitize.FULL)
            .withHeapBytes(16 << 10)
            .withWorkers(2)
            .withSchedule(Schedule.APART);
    try (var machine = machine(kernel, options)) {
      assertThat(machine.words("k", 2, 64)).containsOnly(1);
    }
  }

  @Test
  void reportsFaultsOfVprintf() {
    var kernel =
        """
        .visible .entry k()
        {
          .reg .b32 %r<4>;
          call (%r0), vprintf, (16, 0);
          ret;
        }
        """;
    try (var machine = machine(kernel, EmulatorOptions.DEFAULT)) {
      assertThatThrownBy(() -> machine.launch("k", 1, 1))
          .isInstanceOf(KernelFault.class)
          .hasMessageContaining("touches 1 bytes at 0x10, which is a null pointer");
    }
  }

  @Test
  void nullFormatReturnsMinusOne() {
    var kernel =
        """
        .visible .entry k(.param .u64 out)
        {
          .reg .b32 %r<4>; .reg .b64 %rd<2>;
          ld.param.u64 %rd0, [out];
          call (%r0), vprintf, (0, 0);
          st.global.u32 [%rd0], %r0;
          ret;
        }
        """;
    try (var machine = machine(kernel, EmulatorOptions.DEFAULT)) {
      assertThat(machine.words("k", 1, 1)).containsExactly(-1);
      assertThat(machine.printed).isEmpty();
    }
  }

  @Test
  void rejectsOtherExternalFunctions() {
    var kernel =
        """
        .extern .func cudaFree(.param .b64 p);
        .visible .entry k()
        {
          call cudaFree, (0);
          ret;
        }
        """;
    try (var machine = machine(kernel, EmulatorOptions.DEFAULT)) {
      assertThatThrownBy(() -> machine.launch("k", 1, 1))
          .isInstanceOf(DeviceException.LoadFailed.class)
          .hasMessageContaining(
              "calls cudaFree, which has no body in the module; define it, or call a"
                  + " function of the device runtime: vprintf, __assertfail, malloc, free");
    }
  }

  @Test
  void rejectsWrongDeclarations() {
    var text =
        """
        .version 8.0
        .target sm_80
        .address_size 64
        .extern .func (.param .b32 r) malloc(.param .b64 n);
        .visible .entry k()
        {
          .reg .b32 %r<2>;
          call (%r0), malloc, (8);
          ret;
        }
        """;
    try (var machine = new Machine(text, EmulatorOptions.DEFAULT)) {
      assertThatThrownBy(() -> machine.launch("k", 1, 1))
          .isInstanceOf(DeviceException.LoadFailed.class)
          .hasMessageContaining(
              "does not fit the device runtime: malloc takes arguments of 8 bytes and returns 8 bytes");
    }
  }

  @Test
  void callsTheModulesFunctionOfTheSameName() {
    var text =
        """
        .version 8.0
        .target sm_80
        .address_size 64
        .func (.reg .b64 r) malloc(.reg .b64 n)
        {
          add.u64 r, n, 1;
          ret;
        }
        .visible .entry k(.param .u64 out)
        {
          .reg .b64 %rd<3>; .reg .b32 %r<2>;
          ld.param.u64 %rd0, [out];
          call (%rd1), malloc, (8);
          cvt.u32.u64 %r0, %rd1;
          st.global.u32 [%rd0], %r0;
          ret;
        }
        """;
    try (var machine = new Machine(text, EmulatorOptions.DEFAULT)) {
      assertThat(machine.words("k", 1, 1)).containsExactly(9);
    }
  }
}
