package dev.athanor.ops.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.device.Stream;
import dev.athanor.engine.emulator.EmulatedDevice;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

class StopwatchTest {

  private static final long NANOS = 300_000; // longer than the minimum of a sample

  private static List<Samples> time(Effort effort, Runnable... contenders) {
    try (var device = new EmulatedDevice();
        var stream = device.openStream();
        var stopwatch = new Stopwatch(device, stream)) {
      return stopwatch.time(List.of(contenders), effort);
    }
  }

  private static void spend(long nanos) {
    long end = System.nanoTime() + nanos;
    while (System.nanoTime() < end) {
      LockSupport.parkNanos(1000);
    }
  }

  @Test
  void contendersTakeTurnsAfterWarmup() {
    var calls = new ArrayList<String>();
    var samples =
        time(
            new Effort(2, 3, 0),
            () -> {
              calls.add("ours");
              spend(NANOS);
            },
            () -> {
              calls.add("theirs");
              spend(2 * NANOS);
            });
    assertThat(calls)
        .containsExactly(
            "ours", "ours", "theirs", "theirs", "ours", "theirs", "ours", "theirs", "ours",
            "theirs");
    assertThat(samples)
        .allSatisfy(each -> {
          assertThat(each.count()).isEqualTo(3);
          assertThat(each.batch()).isEqualTo(1);
          assertThat(each.min()).isLessThanOrEqualTo(each.median());
          assertThat(each.median()).isLessThanOrEqualTo(each.max());
        });
    assertThat(samples.get(0).min()).isGreaterThanOrEqualTo(NANOS / 1e3);
    assertThat(samples.get(1).min()).isGreaterThanOrEqualTo(2 * NANOS / 1e3);
  }

  @Test
  void batchesShortLaunches() {
    int greatest = 0;
    // a pause of the machine may make one launch look long, but not twenty
    for (int attempt = 0; attempt < 20; attempt++) {
      var calls = new int[1];
      int batch = time(new Effort(3, 2, 0), () -> calls[0]++).getFirst().batch();
      assertThat(calls[0]).isEqualTo(3 + 2 * batch);
      greatest = Math.max(greatest, batch);
    }
    assertThat(greatest).isGreaterThan(1);
  }

  @Test
  void preparesEachLaunchOutsideTheTimedEvents() {
    var calls = new ArrayList<String>();
    try (var device = new EmulatedDevice();
        var stream = device.openStream();
        var stopwatch = new Stopwatch(device, logged(stream, calls))) {
      var samples =
          stopwatch.time(
              () -> calls.add("prepare"), () -> calls.add("launch"), new Effort(2, 3, 0));
      assertThat(samples.batch()).isEqualTo(1);
      assertThat(samples.count()).isEqualTo(3);
    }
    var sample = List.of("prepare", "record", "launch", "record");
    assertThat(calls.subList(0, 2)).containsExactly("prepare", "launch");
    assertThat(calls.subList(2, calls.size()))
        .isEqualTo(Collections.nCopies(4, sample).stream().flatMap(List::stream).toList());
  }

  /** Returns a stream that notes when events are recorded. */
  private static Stream logged(Stream stream, List<String> calls) {
    return (Stream)
        Proxy.newProxyInstance(
            Stream.class.getClassLoader(),
            new Class<?>[] {Stream.class},
            (_, method, arguments) -> {
              if (method.getName().equals("record")) {
                calls.add("record");
              }
              return method.invoke(stream, arguments);
            });
  }

  @Test
  void samplesForTheMinimumTime() {
    var samples = time(new Effort(1, 1, 5 * NANOS / 1e6), () -> spend(NANOS)).getFirst();
    assertThat(samples.count()).isLessThanOrEqualTo(5);
    assertThat(samples.count() * samples.max()).isGreaterThanOrEqualTo(5 * NANOS / 1e3);
  }

  @Test
  void computesTheMedian() {
    assertThat(Samples.of(new double[] {9, 1, 2}, 4)).isEqualTo(new Samples(2, 1, 9, 3, 4));
    assertThat(Samples.of(new double[] {9, 1, 2, 4}, 1)).isEqualTo(new Samples(3, 1, 9, 4, 1));
  }

  @Test
  void rejectsInvalidEfforts() {
    assertThatThrownBy(() -> new Effort(0, 1, 0))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            "warmup and repeat must be at least 1 and the time at least 0, got 0, 1 and 0.0");
    assertThatThrownBy(() -> new Effort(1, 1, Double.NaN))
        .isInstanceOf(IllegalArgumentException.class);
  }
}
