package dev.athanor.engine.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.text.Parser;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;

/** Tests that the graphs of every {@link Device} must pass. */
@SuppressWarnings("try") // some tests close early or twice
public abstract class GraphCompatibilityKit extends DeviceKit {

  /** Stores the second int of an array parameter. */
  private static final String SECOND =
      """
      .version 7.4
      .target sm_80
      .address_size 64
      .visible .entry second(.param .u64 to, .param .align 4 .b8 values[8])
      {
        .reg .b32 %r<1>;
        .reg .b64 %rd<1>;
        ld.param.u64 %rd0, [to];
        ld.param.u32 %r0, [values+4];
        st.global.u32 [%rd0], %r0;
        ret;
      }
      """;

  /** Computes y += a * x. */
  private Launch add(float a, Buffer x, Buffer y) {
    int n = (int) (y.bytes() / 4);
    return axpy(
        Math.ceilDiv(n, 32), 32, Argument.of(x), Argument.of(y), Argument.of(a), Argument.of(n));
  }

  @Test
  void launchesRepeatCapturedWork() {
    var x = floats(1, 2, 3);
    var y = floats(0, 0, 0);
    var z = floats(0, 0, 0);
    try (var graph =
        device.capture(captured -> {
          captured.launch(add(2, x, y));
          captured.copy(y, 4, z, 0, 8);
          captured.fill(z, 8, 4, (byte) 0x40);
          captured.launch(add(1, z, y));
        })) {
      assertThat(floatsOf(y)).as("nothing ran yet").containsExactly(0, 0, 0);
      graph.launch(stream);
      float high = Float.intBitsToFloat(0x40404040);
      assertThat(floatsOf(y)).containsExactly(6, 10, 6 + high);
      assertThat(floatsOf(z)).containsExactly(4, 6, high);
      graph.launch(stream);
      assertThat(floatsOf(y)).containsExactly(22, 26 + high, 6 + high + 6 + high);
    }
  }

  @Test
  void launchesAreOrderedInTheStream() {
    var x = floats(1, 1);
    var y = floats(9, 9);
    try (var graph = device.capture(captured -> captured.launch(add(1, x, y)))) {
      stream.fill(y, 0, 8, (byte) 0);
      for (int i = 0; i < 5; i++) {
        graph.launch(stream);
      }
      stream.copy(y, 0, x, 0, 8);
      graph.launch(stream);
      stream.upload(MemorySegment.ofArray(new float[] {100, 200}), x, 0);
      graph.launch(stream);
      assertThat(floatsOf(y)).containsExactly(110, 210);
    }
  }

  @Test
  void argumentsAreReadDuringCapture() {
    var to = ints(0);
    var values = MemorySegment.ofArray(new int[] {1, 2});
    var kernel = device.load(Parser.parse(SECOND, "second.ptx"), "second");
    var launch =
        new Launch(
            kernel,
            Dim3.of(1),
            Dim3.of(1),
            0,
            List.of(Argument.of(to), new Argument.Bytes(values)));
    try (var graph = device.capture(captured -> captured.launch(launch))) {
      values.fill((byte) 0);
      graph.launch(stream);
      assertThat(intsOf(to)).containsExactly(2);
    }
  }

  @Test
  void deviceRemainsUsableDuringCapture() {
    var kept = new ArrayList<Buffer>();
    var seen = floats(5, 6);
    var graph =
        device.capture(captured -> {
          var x = floats(1, 2); // on the test's stream, which executes it
          var y = device.allocate(8);
          captured.fill(y, 0, 8, (byte) 0);
          captured.launch(add(3, x, y));
          stream.launch(add(1, x, seen));
          device.allocate(8).close();
          device.load(REVERSE_MODULE, "reverse");
          assertThat(floatsOf(seen)).containsExactly(6, 8);
          device.capture(other -> other.fill(seen, 0, 8, (byte) 1)).close();
          kept.add(y);
        });
    graph.launch(stream);
    assertThat(floatsOf(kept.getFirst())).containsExactly(3, 6);
    assertThat(floatsOf(seen)).containsExactly(6, 8);
    graph.close();
  }

  @Test
  void rejectsUnsupportedOperations() {
    var buffer = ints(1, 2);
    var host = MemorySegment.ofArray(new int[2]);
    try (var mark = stream.record();
        var inner = device.capture(_ -> {})) {
      var graph =
          device.capture(captured -> {
            Map.<String, Runnable>of(
                    "an upload",
                    () -> captured.upload(host, buffer, 0),
                    "a download",
                    () -> captured.download(buffer, 0, host),
                    "an event",
                    captured::record,
                    "a wait for an event",
                    () -> captured.await(mark),
                    "a synchronization",
                    captured::synchronize,
                    "a graph",
                    () -> inner.launch(captured),
                    "a close",
                    captured::close)
                .forEach((what, call) ->
                    assertThatIllegalStateException()
                        .isThrownBy(call::run)
                        .withMessage(
                            "a captured stream accepts launches, device-to-device copies and"
                                + " fills, got "
                                + what));
            captured.fill(buffer, 4, 4, (byte) 0);
          });
      graph.launch(stream);
      graph.close();
    }
    assertThat(intsOf(buffer)).containsExactly(1, 0);
  }

  @Test
  void checksArgumentsDuringCapture() {
    var buffer = ints(1, 2, 3, 4);
    var closed = ints(1, 2, 3, 4);
    closed.close();
    var captured =
        device.capture(work -> {
          assertThatIllegalArgumentException().isThrownBy(() -> work.fill(buffer, 9, 8, (byte) 0));
          assertThatIllegalArgumentException().isThrownBy(() -> work.copy(buffer, 0, buffer, 4, 8));
          assertThatIllegalStateException().isThrownBy(() -> work.fill(closed, 0, 8, (byte) 0));
          assertThatIllegalStateException().isThrownBy(() -> work.copy(buffer, 0, closed, 0, 8));
          assertThatIllegalStateException().isThrownBy(() -> work.launch(add(1, closed, buffer)));
          assertThatIllegalArgumentException()
              .isThrownBy(() -> work.launch(axpy(1, 32, Argument.of(buffer))))
              .withMessage("cannot launch axpy: got 1 arguments; the kernel takes 4");
        });
    captured.launch(stream);
    captured.close();
    assertThat(intsOf(buffer)).containsExactly(1, 2, 3, 4);
  }

  @Test
  void discardsFailedCaptures() {
    var buffer = ints(1, 2);
    var thrown = new IllegalCallerException("not today");
    assertThatThrownBy(() ->
            device.capture(captured -> {
              captured.fill(buffer, 0, 8, (byte) 0);
              throw thrown;
            }))
        .isSameAs(thrown);
    assertThat(intsOf(buffer)).containsExactly(1, 2);
    try (var graph = device.capture(captured -> captured.fill(buffer, 0, 4, (byte) 0))) {
      graph.launch(stream);
      assertThat(intsOf(buffer)).containsExactly(0, 2);
    }
  }

  @Test
  void rejectsWorkAfterTheCapture() {
    var buffer = ints(1, 2);
    var kept = new ArrayList<Stream>();
    device.capture(kept::add).close();
    for (Consumer<Stream> work :
        List.<Consumer<Stream>>of(
            s -> s.fill(buffer, 0, 4, (byte) 0),
            s -> s.copy(buffer, 0, buffer, 4, 4),
            s -> s.launch(add(1, buffer, buffer)),
            Stream::synchronize)) {
      assertThatIllegalStateException()
          .isThrownBy(() -> work.accept(kept.getFirst()))
          .withMessage("the stream is closed: its capture has ended");
    }
  }

  @Test
  void rejectsGraphsWithClosedBuffers() {
    var first = ints(1, 2);
    var second = ints(1, 2);
    try (var graph =
        device.capture(captured -> {
          captured.fill(first, 0, 8, (byte) 0);
          captured.launch(add(1, first, second));
        })) {
      graph.launch(stream);
      stream.upload(MemorySegment.ofArray(new int[] {3, 4}), first, 0);
      second.close();
      assertThatIllegalStateException()
          .isThrownBy(() -> graph.launch(stream))
          .withMessageContaining("is closed");
      assertThat(intsOf(first)).containsExactly(3, 4);
      try (var another = device.allocate(8)) { // may reuse the memory of the second
        stream.fill(another, 0, 8, (byte) 1);
        assertThatIllegalStateException().isThrownBy(() -> graph.launch(stream));
        assertThat(intsOf(another)).containsOnly(0x01010101);
      }
    }
  }

  @Test
  void closeWaitsForLaunches() {
    var x = floats(1, 2);
    var y = floats(0, 0);
    var graph =
        device.capture(captured -> {
          for (int i = 0; i < 20; i++) {
            captured.launch(add(1, x, y));
          }
        });
    graph.launch(stream);
    graph.close();
    graph.close();
    assertThat(floatsOf(y)).containsExactly(20, 40);
    assertThatIllegalStateException()
        .isThrownBy(() -> graph.launch(stream))
        .withMessage("the graph is closed");
  }

  @Test
  void rejectsStreamsOfOtherDevices() {
    var other = open();
    var graph = other.capture(_ -> {});
    assertThatIllegalArgumentException().isThrownBy(() -> graph.launch(stream));
    var foreign = ints(1, 2);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> other.capture(captured -> captured.fill(foreign, 0, 8, (byte) 0)));
    var itsOwn = other.openStream();
    other.close();
    assertThatIllegalStateException().isThrownBy(() -> graph.launch(itsOwn));
    assertThatIllegalStateException().isThrownBy(() -> other.capture(_ -> {}));
    graph.close();
  }

  @Test
  void rejectsClosedStreams() {
    var closed = device.openStream();
    closed.close();
    try (var graph = device.capture(_ -> {})) {
      assertThatIllegalStateException()
          .isThrownBy(() -> graph.launch(closed))
          .withMessage("the stream is closed");
    }
  }

  @Test
  void launchesDoNotOverlap() throws Exception {
    int n = 1000;
    var ones = new float[n];
    Arrays.fill(ones, 1);
    var x = floats(ones);
    var y = floats(new float[n]);
    try (var graph = device.capture(captured -> captured.launch(add(1, x, y)));
        var threads = Executors.newFixedThreadPool(3)) {
      stream.synchronize();
      var all =
          IntStream.range(0, 3)
              .mapToObj(_ ->
                  threads.submit(() -> {
                    try (var own = device.openStream()) {
                      for (int i = 0; i < 10; i++) {
                        graph.launch(own);
                      }
                    }
                    return true;
                  }))
              .toList();
      for (var each : all) {
        assertThat(each.get()).isTrue();
      }
      assertThat(floatsOf(y)).containsOnly(30f);
    }
  }

  @Test
  @EnabledIf(
      value = "survivesFaults",
      disabledReason = "no test could follow it; run it alone with -Dathanor.test.faults")
  void synchronizeReportsFaults() {
    var y = floats(1, 2);
    var nowhere =
        axpy(
            1,
            32,
            new Argument.Scalar(Type.U64, 0),
            Argument.of(y),
            Argument.of(1f),
            Argument.of(2));
    var graph = device.capture(captured -> captured.launch(nowhere));
    assertThatExceptionOfType(DeviceException.class)
        .isThrownBy(() -> {
          graph.launch(stream);
          stream.synchronize();
        })
        .withMessageContaining("axpy")
        .isInstanceOfAny(DeviceException.KernelFault.class, DeviceException.Lost.class);
    graph.close();
  }
}
