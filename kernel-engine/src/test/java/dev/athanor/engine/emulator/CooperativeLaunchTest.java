package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.DeviceException.KernelFault;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.device.Report;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Execution;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.emulator.options.Schedule;
import dev.athanor.engine.ptx.Samples;
import dev.athanor.engine.ptx.text.Parser;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Cooperative launches, with grid.sync() of cooperative groups. */
class CooperativeLaunchTest {

  /** The compilation and execution of a kernel. */
  record Way(
      String target, Execution execution, Sanitize sanitize, int workers, Schedule schedule) {}

  static List<Way> ways() {
    var all = new ArrayList<Way>();
    for (var target : List.of("sm_80", "sm_90")) {
      all.add(new Way(target, Execution.INTERPRETED, Sanitize.FULL, 1, Schedule.CONVERGING));
      all.add(new Way(target, Execution.INTERPRETED, Sanitize.FULL, 2, Schedule.RANDOM));
      all.add(new Way(target, Execution.COMPILED, Sanitize.OFF, 1, Schedule.CONVERGING));
      all.add(new Way(target, Execution.COMPILED, Sanitize.OFF, 4, Schedule.CONVERGING));
    }
    return all;
  }

  private static EmulatorOptions options(Way way) {
    return EmulatorOptions.DEFAULT
        .withExecution(way.execution)
        .withSanitize(way.sanitize)
        .withWorkers(way.workers)
        .withSchedule(way.schedule)
        .withPatience(1 << 22);
  }

  private static Launch launch(
      EmulatedDevice device, String target, String kernel, int blocks, Argument... arguments) {
    var name = "k14_cooperative.%s.ptx".formatted(target);
    return new Launch(
        device.load(Parser.parse(Samples.text(name), name), kernel),
        Dim3.of(blocks),
        Dim3.of(64),
        0,
        List.of(arguments));
  }

  @ParameterizedTest
  @MethodSource("ways")
  void gridBarriersOrderWrites(Way way) {
    try (var device = new EmulatedDevice(options(way));
        var stream = device.openStream();
        var in = device.allocate(4 * 2000);
        var sums = device.allocate(4 * 10);
        var out = device.allocate(4 * 10 * 64)) {
      var values = IntStream.range(0, 2000).map(i -> i * 7 - 9).toArray();
      stream.upload(MemorySegment.ofArray(values), in, 0);
      long used = device.memory().used();
      stream.launch(
          launch(
                  device,
                  way.target,
                  "reduce",
                  10,
                  Argument.of(in),
                  Argument.of(sums),
                  Argument.of(out),
                  Argument.of(values.length))
              .asCooperative());
      var got = new int[10 * 64];
      stream.download(out, 0, MemorySegment.ofArray(got));
      int total = Arrays.stream(values).sum();
      assertThat(got).containsExactly(IntStream.range(0, got.length).map(i -> total + i).toArray());
      assertThat(device.memory().used()).isEqualTo(used);
    }
  }

  @ParameterizedTest
  @MethodSource("ways")
  void gridBarriersSeparateStencilSteps(Way way) {
    int n = 500;
    var before = IntStream.range(0, n).map(i -> i % 13 - 6).toArray();
    try (var device = new EmulatedDevice(options(way));
        var stream = device.openStream();
        var a = device.allocate(4L * n);
        var b = device.allocate(4L * n)) {
      stream.upload(MemorySegment.ofArray(before), a, 0);
      stream.launch(
          launch(
                  device,
                  way.target,
                  "stencil",
                  8,
                  Argument.of(a),
                  Argument.of(b),
                  Argument.of(n),
                  Argument.of(5))
              .asCooperative());
      var expected = before;
      for (int step = 0; step < 5; step++) {
        var from = expected;
        expected =
            IntStream.range(0, n)
                .map(i -> from[i] + (i > 0 ? from[i - 1] : 0) + (i < n - 1 ? from[i + 1] : 0))
                .toArray();
      }
      var got = new int[n];
      stream.download(b, 0, MemorySegment.ofArray(got));
      assertThat(got).containsExactly(expected);
    }
  }

  @Test
  void ordinaryLaunchesTrap() {
    try (var device = new EmulatedDevice(EmulatorOptions.DEFAULT.withSanitize(Sanitize.OFF));
        var stream = device.openStream();
        var a = device.allocate(4 * 64)) {
      var plain =
          launch(
              device,
              "sm_90",
              "stencil",
              1,
              Argument.of(a),
              Argument.of(a),
              Argument.of(0),
              Argument.of(1));
      var fault = catchThrowableOfType(KernelFault.class, () -> stream.launch(plain));
      assertThat(fault.findings().getFirst().kind()).isEqualTo(Report.Kind.TRAP);
    }
  }

  @Test
  void rejectsGridsThatAreNotResident() {
    try (var device = new EmulatedDevice();
        var stream = device.openStream();
        var a = device.allocate(4)) {
      var most =
          launch(
              device,
              "sm_90",
              "stencil",
              132 * 32 + 1,
              Argument.of(a),
              Argument.of(a),
              Argument.of(0),
              Argument.of(0));
      assertThatThrownBy(() -> stream.launch(most.asCooperative()))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage(
              "cannot launch stencil: got a cooperative grid of 4225 blocks of 64x1x1 threads;"
                  + " only 4224 fit on Athanor PTX emulator at once");
    }
  }

  private static final String PARTIAL =
      """
      .version 7.8
      .target sm_80
      .address_size 64
      .visible .entry k(.param .u64 counter, .param .u32 arrive)
      {
        .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %rd<2>;
        ld.param.u64 %rd0, [counter]; ld.param.u32 %r0, [arrive];
        mov.u32 %r1, %ctaid.x; mov.u32 %r2, %nctaid.x;
        setp.ge.u32 %p, %r1, %r0;
        @%p bra $wait;
        atom.add.release.gpu.global.u32 %r3, [%rd0], 1;
      $wait:
        ld.acquire.gpu.global.u32 %r3, [%rd0];
        setp.lt.u32 %p, %r3, %r2;
        @%p bra $wait;
        ret;
      }
      """;

  @Test
  void reportsSkippedGridBarriers() {
    for (int workers : new int[] {1, 3}) {
      var options =
          EmulatorOptions.DEFAULT
              .withSanitize(Sanitize.OFF)
              .withPatience(1 << 18)
              .withWorkers(workers);
      try (var device = new EmulatedDevice(options);
          var stream = device.openStream();
          var counter = device.allocate(4)) {
        var kernel = device.load(Parser.parse(PARTIAL, "partial.ptx"), "k");
        for (int arrive : new int[] {6, 5}) {
          stream.fill(counter, 0, 4, (byte) 0);
          var launch =
              new Launch(
                      kernel,
                      Dim3.of(6),
                      Dim3.of(1),
                      0,
                      List.of(Argument.of(counter), Argument.of(arrive)))
                  .asCooperative();
          if (arrive == 6) {
            stream.launch(launch);
          } else {
            var fault = catchThrowableOfType(KernelFault.class, () -> stream.launch(launch));
            assertThat(fault.findings()).hasSize(6);
            assertThat(fault.findings())
                .allSatisfy(found -> assertThat(found.kind()).isEqualTo(Report.Kind.LIVELOCK));
          }
        }
      }
    }
  }

  @Test
  void reportsDeadlocksAtBlockBarriers() {
    var text =
        """
        .version 7.8
        .target sm_80
        .address_size 64
        .visible .entry k()
        {
          .reg .pred %p; .reg .b32 %r<6>;
          mov.u32 %r0, %tid.x;
          setp.lt.u32 %p, %r0, 32;
          @%p barrier.sync 1, 64;
          ret;
        }
        """;
    try (var device = new EmulatedDevice(EmulatorOptions.DEFAULT.withSanitize(Sanitize.OFF));
        var stream = device.openStream()) {
      var launch =
          new Launch(
                  device.load(Parser.parse(text, "dead.ptx"), "k"),
                  Dim3.of(2),
                  Dim3.of(64),
                  0,
                  List.of())
              .asCooperative();
      var fault = catchThrowableOfType(KernelFault.class, () -> stream.launch(launch));
      assertThat(fault.findings()).hasSize(2);
      assertThat(fault.findings().getFirst().place().block()).isEqualTo(new Report.Index(0, 0, 0));
      assertThat(fault.findings().getLast().place().block()).isEqualTo(new Report.Index(1, 0, 0));
    }
  }
}
