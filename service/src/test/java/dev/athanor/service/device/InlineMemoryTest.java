package dev.athanor.service.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import dev.athanor.engine.device.DeviceException;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.tune.Planner;
import dev.athanor.ops.tune.TuningCache;
import dev.athanor.service.failure.Deadline;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.run.Call;
import dev.athanor.service.run.FakeDevice;
import dev.athanor.service.run.Result;
import dev.athanor.service.run.Rig;
import dev.athanor.service.run.TestOps;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.tensor.QuotaSettings;
import dev.athanor.service.tensor.QuotaSettings.TenantQuota;
import dev.athanor.service.tensor.Tenant;
import dev.athanor.service.tensor.TensorSettings;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Tests the memory of requests: shared by the tensors of a request, cached for the next, bounded,
 * and exclusive to a request.
 */
class InlineMemoryTest {

  private static final long MIB = 1 << 20;

  /** The limit that {@link Rig} configures. */
  private static final long LIMIT = 4 * MIB;

  @TempDir Path folder;

  private final FakeDevice device = new FakeDevice(0, 64 * MIB);
  private final FakeDevice second = new FakeDevice(1, 64 * MIB);
  private Rig rig;
  private InlineMemory inline;

  @BeforeEach
  void open() {
    rig =
        new Rig(
            List.of(device, second),
            new Planner(device.capability(), TuningCache.open(folder.resolve("tuning.json"))),
            1,
            4,
            new TensorSettings(1 << 20, 100, Duration.ZERO, 0, Duration.ofMinutes(1)));
    inline = rig.inline;
  }

  @AfterEach
  void close() {
    rig.close();
    assertThat(device.openHostMemories()).isZero();
    assertThat(second.openHostMemories()).isZero();
  }

  private static MemorySegment allocate(RequestMemory memory, long bytes) {
    return memory.allocate(bytes, 8);
  }

  private static Failure rejection(RequestMemory memory, long bytes) {
    return catchThrowableOfType(Failure.class, () -> allocate(memory, bytes));
  }

  @ParameterizedTest
  @CsvSource({
    "1, 65536",
    "65536, 65536",
    "65537, 131072",
    "1048576, 1048576",
    "1048577, 1310720",
    "1310721, 1572864",
    "2097151, 2097152",
    "1000000000, 1073741824",
  })
  void blocksAreAtMostSlightlyLargerThanRequested(long bytes, long block) {
    assertThat(InlineMemory.blockBytes(bytes)).isEqualTo(block);
  }

  @Test
  void requestWithoutTensorsUsesNoMemory() {
    try (var memory = inline.open("local");
        var job = memory.hold()) {
      assertThat(job).isSameAs(memory);
      assertThat(inline.used()).isZero();
    }
    assertThat(device.openHostMemories()).isZero();
  }

  @Test
  void tensorsOfARequestShareABlockWithoutOverlap() {
    try (var memory = inline.open("local")) {
      var segments =
          List.of(allocate(memory, 100), allocate(memory, 2 * MIB), allocate(memory, 65_000));
      for (int i = 0; i < segments.size(); i++) {
        segments.get(i).fill((byte) (i + 1));
      }
      for (int i = 0; i < segments.size(); i++) {
        var segment = segments.get(i);
        var expected = MemorySegment.ofArray(new byte[(int) segment.byteSize()]);
        expected.fill((byte) (i + 1));
        assertThat(segment.mismatch(expected)).as("tensor %d", i).isEqualTo(-1);
        assertThat(segment.address() % 256).isZero();
      }
      assertThat(segments)
          .extracting(MemorySegment::byteSize)
          .containsExactly(100L, 2 * MIB, 65_000L);
      assertThat(inline.used()).isEqualTo(2 * MIB + Staging.SMALL);
    }
    assertThat(inline.used()).isZero();
  }

  @Test
  void releasedMemoryIsAvailableToOtherRequestsAtOnce() {
    try (var memory = inline.open("local");
        var other = inline.open("local")) {
      var small = allocate(memory, 100);
      var first = allocate(memory, MIB);
      allocate(memory, 200);
      memory.release(first);
      assertThat(inline.used()).isEqualTo(Staging.SMALL);
      assertThat(allocate(other, MIB).address()).isEqualTo(first.address());
      memory.release(small); // in a shared block, so it stays allocated
      assertThat(inline.used()).isEqualTo(MIB + Staging.SMALL);
      // part of a block whose rest is in use
      memory.release(allocate(memory, 200));
      assertThat(allocate(memory, MIB).address()).isNotEqualTo(first.address());
      assertThat(inline.used()).isEqualTo(2 * MIB + Staging.SMALL);
    }
    assertThat(inline.used()).isZero();
  }

  @Test
  void reusesTheMemoryOfThePreviousRequest() {
    for (int i = 0; i < 10; i++) {
      try (var memory = inline.open("local")) {
        allocate(memory, 1000);
        allocate(memory, 2 * MIB);
      }
    }
    assertThat(device.hostMemoriesEver(Staging.SMALL)).isEqualTo(1);
    assertThat(device.hostMemoriesEver(2 * MIB)).isEqualTo(1);
  }

  /** A tenant that reads responses slowly must not block others. */
  @Test
  void limitsTheShareOfATenant() {
    var halves = new InlineMemory(rig.runtimes, rig.settings, new QuotaSettings(0.5, Map.of()));
    var one = halves.open("slow");
    try (var more = halves.open("slow");
        var other = halves.open("other");
        var third = halves.open("third")) {
      allocate(one, MIB);
      allocate(more, MIB);
      var full = (Failure.Busy) rejection(more, 1);
      assertThat(full.code()).isEqualTo(Code.OUT_OF_HOST_MEMORY);
      assertThat(full)
          .hasMessage(
              "Out of host memory: other requests use 1048576 of 4194304 bytes (athanor.run.inline-bytes), 1048576 of them for this tenant (athanor.quota.share). Retry after 1 s.");
      allocate(other, MIB);
      assertThat(rejection(other, 1))
          .hasMessage(
              "Out of host memory: other requests use 2097152 of 4194304 bytes (athanor.run.inline-bytes), 0 of them for this tenant (athanor.quota.share). Retry after 1 s.");
      allocate(third, MIB / 2);
      one.close();
      allocate(more, 1);
      var large = rejection(other, MIB + 1);
      assertThat(large.code()).isEqualTo(Code.TOO_LARGE);
      assertThat(large)
          .hasMessage(
              "Inline tensors exceed the limit of 2097152 bytes (athanor.run.inline-bytes, athanor.quota.share); upload them and pass handles");
    }
    assertThat(halves.used()).isZero();
  }

  @Test
  void supportsSharesPerTenant() {
    var quotas =
        new QuotaSettings(
            0.5,
            Map.of(
                "small", new TenantQuota(null, null, 0.25, null),
                "large", new TenantQuota(null, null, 1.0, null)));
    var memories = new InlineMemory(rig.runtimes, rig.settings, quotas);
    try (var small = memories.open("small")) {
      allocate(small, MIB);
      assertThat(rejection(small, 1).code()).isEqualTo(Code.TOO_LARGE);
    }
    try (var standard = memories.open("usual")) {
      allocate(standard, 2 * MIB);
      assertThat(rejection(standard, 1).code()).isEqualTo(Code.TOO_LARGE);
    }
    try (var large = memories.open("large")) {
      allocate(large, 4 * MIB);
    }
    assertThat(memories.used()).isZero();
  }

  @Test
  void limitsAllRequestsTogether() {
    var one = inline.open("local");
    allocate(one, 3 * MIB);
    try (var other = inline.open("local")) {
      var full = (Failure.Busy) rejection(other, 2 * MIB);
      assertThat(full.code()).isEqualTo(Code.OUT_OF_HOST_MEMORY);
      assertThat(full)
          .hasMessage(
              "Out of host memory: other requests use 3145728 of 4194304 bytes (athanor.run.inline-bytes), 3145728 of them for this tenant (athanor.quota.share). Retry after 1 s.");
      assertThat(full.retryAfter()).isEqualTo(Duration.ofSeconds(1));
      allocate(other, MIB);
      assertThat(inline.used()).isEqualTo(LIMIT);
      one.close();
      allocate(other, 3 * MIB);
      assertThat(inline.used()).isEqualTo(LIMIT);
      var more = rejection(other, 1);
      assertThat(more.code()).isEqualTo(Code.TOO_LARGE);
      assertThat(more)
          .hasMessage(
              "Inline tensors exceed the limit of 4194304 bytes (athanor.run.inline-bytes, athanor.quota.share); upload them and pass handles");
    }
    assertThat(inline.used()).isZero();
  }

  @Test
  void failedHostAllocationsLeakNothing() {
    try (var memory = inline.open("local")) {
      device.refuseHostMemory(true);
      var full = rejection(memory, 100);
      assertThat(full.code()).isEqualTo(Code.OUT_OF_HOST_MEMORY);
      assertThat(full)
          .hasMessage(
              "Out of host memory: 65536 bytes are not available for the inline tensors of this request. Retry after 1 s.");
      assertThat(inline.used()).isZero();
      device.refuseHostMemory(false);
      allocate(memory, 100);
    }
  }

  @Test
  void usesAnotherDeviceIfTheFirstIsLost() {
    rig.health.explain(0, new DeviceException.Lost("it fell off the bus"));
    try (var memory = inline.open("local")) {
      allocate(memory, 100);
    }
    assertThat(device.hostMemoriesEver(Staging.SMALL)).isZero();
    assertThat(second.hostMemoriesEver(Staging.SMALL)).isEqualTo(1);
  }

  @Test
  void rejectsAllocationsAfterClose() {
    var memory = inline.open("local");
    memory.close();
    assertThatThrownBy(() -> allocate(memory, 1))
        .isInstanceOf(IllegalStateException.class)
        .hasMessage("the memory of the request is closed");
  }

  /** Nothing runs if the result could not be returned. */
  @Test
  void rejectsTooLargeResultsBeforeRunning() {
    var type = TensorType.of(DType.U8, LIMIT + 1);
    int arrived = TestOps.Identity.AT_GATE.get();
    try (var memory = inline.open("local")) {
      var call =
          new Call(
              new TestOps.Identity(),
              Map.of("x", new Call.Input.Inline(HostTensor.zeros(type))),
              Map.of("gate", true),
              Map.of(),
              Rig.in(memory, new RequestContext(Tenant.LOCAL, Deadline.in(3_600_000))));
      assertThat(catchThrowableOfType(Failure.class, () -> rig.runner.run(call)).code())
          .isEqualTo(Code.TOO_LARGE);
    }
    assertThat(TestOps.Identity.AT_GATE).hasValue(arrived);
    assertThat(device.openBuffers() + second.openBuffers()).isZero();
  }

  /** A client may disconnect while the device still reads its tensors. */
  @Test
  void memoryOfARunningJobIsNotReused() {
    var type = TensorType.of(DType.U8, Staging.SMALL);
    int arrived = TestOps.Identity.AT_GATE.get();
    var late =
        new RequestContext(
            Tenant.LOCAL, 3, Deadline.none(), () -> TestOps.Identity.AT_GATE.get() > arrived);
    try (var memory = inline.open("local")) {
      var x = new HostTensor(type, allocate(memory, type.bytes()));
      x.data().fill((byte) 1);
      var call =
          new Call(
              new TestOps.Identity(),
              Map.of("x", new Call.Input.Inline(x)),
              Map.of("gate", true),
              Map.of(),
              Rig.in(memory, late));
      assertThat(catchThrowableOfType(Failure.class, () -> rig.runner.run(call)).code())
          .isEqualTo(Code.CANCELLED);
    }
    assertThat(inline.used()).as("input and output").isEqualTo(2L * Staging.SMALL);
    try (var next = inline.open("local")) {
      allocate(next, Staging.SMALL).fill((byte) 2);
      assertThat(device.hostMemoriesEver(Staging.SMALL)).isEqualTo(3);
    }
    TestOps.Identity.GATE.release();
    await().until(() -> inline.used() == 0);
  }

  /** All requests share a few blocks, but each sees only its own data. */
  @Test
  void concurrentRequestsDoNotShareMemory() {
    int clients = 4;
    int rounds = 50;
    var all =
        IntStream.range(0, clients)
            .mapToObj(c -> CompletableFuture.runAsync(() -> runs(c, rounds)))
            .toList();
    all.forEach(CompletableFuture::join);
    assertThat(inline.used()).isZero();
    assertThat(device.hostMemoriesEver(Staging.SMALL)).isLessThanOrEqualTo(2 * clients);
  }

  private void runs(int client, int rounds) {
    for (int i = 0; i < rounds; i++) {
      var type = TensorType.of(DType.U8, 1000 + 100L * client + i);
      byte mark = (byte) (client * rounds + i);
      try (var memory = inline.open("local")) {
        var x = new HostTensor(type, allocate(memory, type.bytes()));
        x.data().fill(mark);
        var result =
            rig.runner.run(
                new Call(
                    new TestOps.Identity(),
                    Map.of("x", new Call.Input.Inline(x)),
                    Map.of(),
                    Map.of(),
                    Rig.in(memory, new RequestContext(Tenant.LOCAL, Deadline.none()))));
        var y = ((Result.Output.Inline) Objects.requireNonNull(result.outputs().get("y"))).tensor();
        assertThat(y.type()).isEqualTo(type);
        assertThat(y.data().mismatch(x.data())).isEqualTo(-1);
        assertThat(y.get(0)).isEqualTo(mark & 0xFF);
      }
    }
  }
}
