package dev.athanor.engine.emulator;

import static java.util.stream.Collectors.joining;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceCompatibilityKit;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.device.LoadedKernel;
import dev.athanor.engine.device.LoadedKernel.Origin;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.emulator.watch.Observer;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Version;
import dev.athanor.engine.ptx.table.TableWalk;
import dev.athanor.engine.ptx.text.Parser;
import dev.athanor.testing.TestTier;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class EmulatedDeviceTest extends DeviceCompatibilityKit {

  @Override
  protected Device open() {
    return new EmulatedDevice();
  }

  @Test
  @Tag(TestTier.THOROUGH_TAG)
  void executesEverySpelling() {
    try (var device = new EmulatedDevice()) {
      var walk = TableWalk.module(new Version(7, 8), Target.SM_90);
      assertThat(device.load(walk, "walk").origin()).isEqualTo(Origin.COMPILED);
    }
  }

  @Test
  void memoryIsLimitedByOptions() {
    try (var device = new EmulatedDevice(EmulatorOptions.DEFAULT.withMemoryBytes(1000))) {
      var first = device.allocate(600);
      assertThatThrownBy(() -> device.allocate(401))
          .isInstanceOf(DeviceException.OutOfMemory.class)
          .hasMessage("cannot allocate 401 bytes of device memory: 400 are free");
      assertThat(device.memory()).isEqualTo(new Device.MemoryUsage(600, 0, 400));
      first.close();
      assertThat(device.allocate(1000).bytes()).isEqualTo(1000);
    }
  }

  /** The limits of the CUDA programming guide, in KiB. */
  @ParameterizedTest
  @CsvSource({"sm_80, 163", "sm_86, 99", "sm_89, 99", "sm_90a, 227", "sm_120, 99"})
  void sharedMemoryOfABlockIsThatOfTheTarget(String target, int kilobytes) {
    var options = EmulatorOptions.DEFAULT.withTarget(Target.of(target));
    try (var device = new EmulatedDevice(options)) {
      assertThat(device.capability().sharedBytesPerBlockOptIn()).isEqualTo(kilobytes << 10);
    }
  }

  /** Programs with structs by value have many parameters; a launch visits each once. */
  @Test
  void passesManyParameters() {
    int count = 20_000;
    var parameters =
        IntStream.range(0, count).mapToObj(".param .u32 p%d"::formatted).collect(joining(", "));
    var module =
        Parser.parse(
            """
            .version 7.8
            .target sm_80
            .address_size 64
            .visible .entry last(.param .u64 out, %s) {
              .reg .b32 %%r<1>;
              .reg .b64 %%rd<1>;
              ld.param.u64 %%rd0, [out];
              ld.param.u32 %%r0, [p%d];
              st.global.u32 [%%rd0], %%r0;
              ret;
            }
            """
                .formatted(parameters, count - 1),
            "many.ptx");
    try (var device = new EmulatedDevice();
        var out = device.allocate(4);
        var stream = device.openStream()) {
      var arguments = new ArrayList<Argument>(List.of(Argument.of(out)));
      IntStream.range(0, count).mapToObj(Argument::of).forEach(arguments::add);
      stream.launch(new Launch(device.load(module, "last"), Dim3.of(1), Dim3.of(1), 0, arguments));
      var result = new int[1];
      stream.download(out, 0, MemorySegment.ofArray(result));
      stream.synchronize();
      assertThat(result[0]).isEqualTo(count - 1);
    }
  }

  @Test
  void rejectsInvalidOptions() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> EmulatorOptions.Sanitize.of("FULL"))
        .withMessage("athanor.sanitize is \"FULL\"; it takes off, memory or full");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> EmulatorOptions.DEFAULT.withWorkers(0))
        .withMessage("workers must be at least 1, got 0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> EmulatorOptions.DEFAULT.withBlocks(0))
        .withMessage("blocks must be at least 1, got 0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> EmulatorOptions.DEFAULT.withMemoryBytes(0))
        .withMessage("memoryBytes must be at least 1, got 0");
  }

  /** Returns a module that stores a number; each number gives another module. */
  private static Module storing(int number) {
    return Parser.parse(
        """
        .version 7.8
        .target sm_80
        .address_size 64
        .visible .entry store(.param .u64 out) {
          .reg .b64 %rd0;
          ld.param.u64 %rd0, [out];
          st.global.u32 [%rd0], 1NUMBER;
          ret;
        }
        """
            .replace("NUMBER", "%06d".formatted(number)),
        "store.ptx");
  }

  private static int stored(Device device, LoadedKernel kernel) {
    var result = new int[1];
    try (var stream = device.openStream();
        var out = device.allocate(4)) {
      stream.launch(new Launch(kernel, Dim3.of(1), Dim3.of(1), 0, List.of(Argument.of(out))));
      stream.download(out, 0, MemorySegment.ofArray(result));
    }
    return result[0];
  }

  @Test
  void evictsUnusedPrograms() {
    try (var device = new EmulatedDevice()) {
      var first = device.load(storing(0), "store");
      for (int number = 1; number <= EmulatedDevice.MODULES; number++) {
        assertThat(device.load(storing(number), "store").origin()).isEqualTo(Origin.COMPILED);
      }
      assertThat(stored(device, first)).as("in use, so it still runs").isEqualTo(1_000_000);
      assertThat(device.load(storing(2), "store").origin()).isEqualTo(Origin.HIT);
      var again = device.load(storing(0), "store");
      assertThat(again.origin()).isEqualTo(Origin.COMPILED);
      assertThat(stored(device, again)).isEqualTo(1_000_000);
    }
  }

  @Test
  void neverEvictsModuleVariables() {
    var counting =
        Parser.parse(
            """
            .version 7.8
            .target sm_80
            .address_size 64
            .global .u32 count = 5;
            .visible .entry store(.param .u64 out) {
              .reg .b64 %rd0;
              .reg .b32 %r<2>;
              ld.param.u64 %rd0, [out];
              ld.global.u32 %r0, [count];
              add.u32 %r1, %r0, 1;
              st.global.u32 [count], %r1;
              st.global.u32 [%rd0], %r1;
              ret;
            }
            """,
            "count.ptx");
    try (var device = new EmulatedDevice()) {
      assertThat(stored(device, device.load(counting, "store"))).isEqualTo(6);
      for (int number = 0; number <= EmulatedDevice.MODULES; number++) {
        var _ = device.load(storing(number), "store");
      }
      var again = device.load(counting, "store");
      assertThat(again.origin()).isEqualTo(Origin.HIT);
      assertThat(stored(device, again)).isEqualTo(7);
    }
  }

  private static final String NOTHING =
      """
      .version 7.8
      .target sm_90
      .address_size 64
      .visible .entry nothing() { ret; }
      """;

  private static void launchNothing(int blocks, Observer.Factory observer) {
    var options = EmulatorOptions.DEFAULT.withWorkers(2).withObservers(List.of(observer));
    try (var device = new EmulatedDevice(options);
        var stream = device.openStream()) {
      var kernel = device.load(Parser.parse(NOTHING, "nothing.ptx"), "nothing");
      stream.launch(new Launch(kernel, Dim3.of(blocks), Dim3.of(32), 0, List.of()));
    }
  }

  @Test
  void runsSingleBlocksInTheCallingThread() {
    var threads = ConcurrentHashMap.<Thread>newKeySet();
    Observer.Factory observer =
        _ -> {
          threads.add(Thread.currentThread());
          return new Observer() {};
        };
    launchNothing(1, observer);
    assertThat(threads).containsExactly(Thread.currentThread());
    threads.clear();
    launchNothing(2, observer);
    assertThat(threads).doesNotContain(Thread.currentThread()).isNotEmpty();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void distinguishesInternalErrorsFromFaults(int blocks) {
    assertThatIllegalStateException()
        .isThrownBy(() ->
            launchNothing(
                blocks,
                _ -> {
                  throw new UnsupportedOperationException("broken");
                }))
        .withMessage("the emulator itself failed")
        .withCauseInstanceOf(UnsupportedOperationException.class);
  }

  /** Blocks store a word once a flag is set. */
  private static final String SPIN =
      """
      .version 7.8
      .target sm_90
      .address_size 64
      .visible .entry spin(.param .u64 words)
      {
      .reg .pred %p; .reg .b32 %r1; .reg .b64 %rd0;
      ld.param.u64 %rd0, [words];
      $spin: ld.volatile.global.u32 %r1, [%rd0]; setp.eq.u32 %p, %r1, 0; @%p bra $spin;
      st.volatile.global.u32 [%rd0+4], %r1;
      ret;
      }
      """;

  @Test
  void internalErrorsStopAllBlocks() {
    var running = new CountDownLatch(2);
    Observer.Factory observer =
        launch ->
            new Observer() {
              @Override
              public void begin(long block) {
                running.countDown();
                if (launch.number() == 0 && Thread.currentThread().getName().endsWith("-0")) {
                  await(running);
                  throw new UnsupportedOperationException("broken");
                }
              }
            };
    var options =
        EmulatorOptions.DEFAULT
            .withWorkers(2)
            .withSanitize(Sanitize.OFF)
            .withObservers(List.of(observer));
    try (var device = new EmulatedDevice(options);
        var stream = device.openStream();
        var words = device.allocate(8);
        var others = device.allocate(8)) {
      var kernel = device.load(Parser.parse(SPIN, "spin.ptx"), "spin");
      stream.fill(words, 0, 8, (byte) 0);
      assertThatIllegalStateException()
          .isThrownBy(() -> stream.launch(launch(kernel, words)))
          .withMessage("the emulator itself failed")
          .withCauseInstanceOf(UnsupportedOperationException.class);
      stream.fill(words, 0, 4, (byte) 1);
      stream.fill(others, 0, 8, (byte) 1);
      stream.launch(launch(kernel, others)); // needs both workers
      var found = new int[2];
      stream.download(words, 0, MemorySegment.ofArray(found));
      assertThat(found[1]).isZero();
    }
  }

  private static Launch launch(LoadedKernel kernel, Buffer words) {
    return new Launch(kernel, Dim3.of(2), Dim3.of(1), 0, List.of(Argument.of(words)));
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {524_289, 1 << 30})
  void rejectsTooMuchLocalMemory(int bytes) {
    var text = NOTHING.replace("{ ret;", "{ .local .b8 big[" + bytes + "]; ret;");
    try (var device = new EmulatedDevice()) {
      assertThatThrownBy(() -> device.load(Parser.parse(text, "local.ptx"), "nothing"))
          .isInstanceOf(DeviceException.LoadFailed.class)
          .hasMessageContaining(
              "kernel nothing takes %d bytes of local memory per thread; the maximum is 524288; use",
              bytes);
      var most = text.replace(String.valueOf(bytes), "524288");
      assertThat(device.load(Parser.parse(most, "local.ptx"), "nothing")).isNotNull();
    }
  }

  @Test
  void rejectsCodeForNewerTargets() {
    var walk = TableWalk.module(new Version(7, 8), Target.SM_90);
    try (var device = new EmulatedDevice(EmulatorOptions.DEFAULT.withTarget(Target.SM_80))) {
      assertThat(device.capability().target()).isEqualTo(Target.SM_80);
      assertThatThrownBy(() -> device.load(walk, "walk"))
          .isInstanceOf(DeviceException.LoadFailed.class)
          .hasMessage("kernel walk could not be loaded: it is for sm_90, the device is sm_80");
    }
  }

  @Test
  void rejectsBuffersOfOtherDevices() {
    try (var device = new EmulatedDevice();
        var other = new EmulatedDevice();
        var stream = device.openStream()) {
      var buffer = other.allocate(4);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> stream.fill(buffer, 0, 4, (byte) 0))
          .withMessageContaining("a buffer of another device");
    }
  }

  @Test
  void rejectsUseAfterClose() {
    var device = new EmulatedDevice();
    var stream = device.openStream();
    var buffer = device.allocate(4);
    device.close();
    assertThatIllegalStateException().isThrownBy(() -> device.allocate(4));
    assertThatIllegalStateException().isThrownBy(device::openStream);
    assertThatIllegalStateException().isThrownBy(() -> stream.fill(buffer, 0, 4, (byte) 0));
  }
}
