package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.DeviceException.KernelFault;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.device.Report;
import dev.athanor.engine.device.Stream;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.text.Parser;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Dependent launches: which earlier launches they may overlap. */
class DependentLaunchTest {

  private static final int WORDS = 64;

  /** Each kernel adds 1 to its thread's words; one waits first. */
  private static final Module MODULE =
      Parser.parse(
          ".version 8.0\n.target sm_90\n.address_size 64\n"
              + kernel("plain", "")
              + kernel("waits", "griddepcontrol.wait;"),
          "launches.ptx");

  private static String kernel(String name, String first) {
    return """
    .visible .entry %s(.param .u64 words)
    {
    .reg .b32 %%r<4>;
    .reg .b64 %%rd<4>;
    ld.param.u64 %%rd0, [words];
    mov.u32 %%r0, %%tid.x;
    mul.wide.u32 %%rd1, %%r0, 4;
    add.u64 %%rd0, %%rd0, %%rd1;
    %s
    ld.global.u32 %%r1, [%%rd0];
    add.u32 %%r1, %%r1, 1;
    st.global.u32 [%%rd0], %%r1;
    ret;
    }
    """
        .formatted(name, first);
  }

  /** A device with a zero buffer. */
  private record Scene(EmulatedDevice device, Stream stream, Buffer words) {

    Launch launch(String kernel) {
      return new Launch(
          device.load(MODULE, kernel), Dim3.of(1), Dim3.of(WORDS), 0, List.of(Argument.of(words)));
    }

    int first() {
      var all = new int[WORDS];
      stream.download(words, 0, MemorySegment.ofArray(all));
      return all[0];
    }
  }

  private static void on(String target, Sanitize sanitize, Consumer<Scene> check) {
    var options = EmulatorOptions.DEFAULT.withTarget(Target.of(target)).withSanitize(sanitize);
    try (var device = new EmulatedDevice(options);
        var stream = device.openStream();
        var words = device.allocate(4 * WORDS)) {
      stream.fill(words, 0, 4 * WORDS, (byte) 0);
      check.accept(new Scene(device, stream, words));
    }
  }

  private static void on(Consumer<Scene> check) {
    on("sm_90", Sanitize.FULL, check);
  }

  private static void assertRace(Runnable launch) {
    assertThatThrownBy(launch::run)
        .isInstanceOfSatisfying(
            KernelFault.class,
            fault ->
                assertThat(fault.findings())
                    .extracting(Report::kind)
                    .containsOnly(Report.Kind.GRID_NOT_AWAITED));
  }

  @Test
  void reportNamesBothLaunches() {
    on(scene -> {
      scene.stream.launch(scene.launch("waits"));
      assertThatThrownBy(() -> scene.stream.launch(scene.launch("plain").asDependent()))
          .isInstanceOf(KernelFault.class)
          .hasMessageContaining(
              "thread (0,0,0) of block (0,0,0) of kernel plain, \"ld.global.u32 %r1, [%rd0]\" at launches.ptx:13:1: ")
          .hasMessageContaining(
              "lane 0 of warp 0 reads bytes 0..3 of "
                  + scene.words
                  + ", which kernel waits of the previous launch writes (thread (0,0,0) of block (0,0,0), \"st.global.u32 [%rd0], %r1\" at launches.ptx:29:1), before griddepcontrol.wait; execute griddepcontrol.wait before this instruction");
    });
  }

  @Test
  void reportNamesAnEarlierLaunch() {
    on(scene -> {
      var other = scene.device.allocate(4 * WORDS);
      scene.stream.fill(other, 0, 4 * WORDS, (byte) 0);
      scene.stream.launch(scene.launch("plain"));
      scene.stream.launch(
          new Launch(
                  scene.launch("plain").kernel(),
                  Dim3.of(1),
                  Dim3.of(WORDS),
                  0,
                  List.of(Argument.of(other)))
              .asDependent());
      assertThatThrownBy(() -> scene.stream.launch(scene.launch("waits").asDependent()))
          .isInstanceOf(KernelFault.class)
          .hasMessageContaining(
              ", which kernel plain of an earlier launch writes (thread (0,0,0) of block (0,0,0), \"st.global.u32 [%rd0], %r1\" at launches.ptx:15:1), and the previous launch has not waited for that one; execute griddepcontrol.wait in every dependent kernel");
    });
  }

  @Test
  void waitsOrderAChain() {
    on(scene -> {
      scene.stream.launch(scene.launch("plain"));
      for (int i = 0; i < 20; i++) {
        scene.stream.launch(scene.launch("waits").asDependent());
      }
      assertThat(scene.first()).isEqualTo(21);
    });
  }

  @Test
  void launchesThatAreNotDependentRunInOrder() {
    on(scene -> {
      scene.stream.launch(scene.launch("plain"));
      scene.stream.launch(scene.launch("plain"));
      assertThat(scene.first()).isEqualTo(2);
    });
  }

  @Test
  void otherWorkSeparatesLaunches() {
    on(scene -> {
      var more = scene.device.allocate(8);
      List.<Runnable>of(
              () -> scene.stream.fill(more, 0, 8, (byte) 0),
              () -> scene.stream.copy(more, 0, more, 4, 4),
              () -> scene.stream.upload(MemorySegment.ofArray(new int[1]), more, 0),
              () -> scene.stream.download(more, 0, MemorySegment.ofArray(new int[1])),
              scene.stream::synchronize,
              () ->
                  scene
                      .device
                      .capture(work -> work.launch(scene.launch("plain")))
                      .launch(scene.stream))
          .forEach(between -> {
            scene.stream.launch(scene.launch("plain"));
            between.run();
            scene.stream.launch(scene.launch("plain").asDependent());
          });
      scene.stream.launch(scene.launch("plain"));
      scene.stream.record();
      assertRace(() -> scene.stream.launch(scene.launch("plain").asDependent()));
    });
  }

  @Test
  void graphsKeepDependence() {
    on(scene -> {
      var right =
          scene.device.capture(work -> {
            work.launch(scene.launch("plain").asDependent());
            work.launch(scene.launch("waits").asDependent());
          });
      scene.stream.launch(scene.launch("plain"));
      right.launch(scene.stream);
      right.launch(scene.stream);
      assertThat(scene.first()).isEqualTo(5);
      var wrong =
          scene.device.capture(work -> {
            work.launch(scene.launch("waits"));
            work.launch(scene.launch("plain").asDependent());
          });
      assertRace(() -> wrong.launch(scene.stream));
      assertRace(() -> wrong.launch(scene.stream));
    });
  }

  /** A launch that failed has ended. */
  @Test
  void launchesAfterAFaultRunInOrder() {
    on(scene -> {
      scene.stream.launch(scene.launch("plain"));
      assertRace(() -> scene.stream.launch(scene.launch("plain").asDependent()));
      scene.stream.launch(scene.launch("plain").asDependent());
    });
  }

  @ParameterizedTest
  @EnumSource(
      value = Sanitize.class,
      names = {"OFF", "MEMORY"})
  void onlyTheDetectionOfRacesFindsThem(Sanitize sanitize) {
    on(
        "sm_90",
        sanitize,
        scene -> {
          scene.stream.launch(scene.launch("plain"));
          scene.stream.launch(scene.launch("plain").asDependent());
          assertThat(scene.first()).isEqualTo(2);
        });
  }

  /** Devices before sm_90 ignore the permission. */
  @ParameterizedTest
  @ValueSource(strings = {"sm_80", "sm_90a"})
  void dependsOnTheTarget(String target) {
    on(
        target,
        Sanitize.FULL,
        scene -> {
          scene.stream.launch(scene.launch("plain"));
          if (target.equals("sm_80")) {
            scene.stream.launch(scene.launch("plain").asDependent());
            scene.stream.launch(scene.launch("waits").asDependent());
            assertThat(scene.first()).isEqualTo(3);
          } else {
            assertRace(() -> scene.stream.launch(scene.launch("plain").asDependent()));
          }
        });
  }
}
