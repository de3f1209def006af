package dev.athanor.engine.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.text.Parser;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;

/** Tests that every {@link Device} must pass; a device's own test extends this class. */
public abstract class DeviceCompatibilityKit extends DeviceKit {

  @Test
  void describesItself() {
    var capability = device.capability();
    assertThat(capability.id()).matches("[a-z]+:\\d+");
    assertThat(capability.name()).isNotBlank();
    assertThat(capability.driver()).isNotBlank();
    assertThat(capability.target().sm()).isGreaterThanOrEqualTo(70);
    assertThat(capability.multiprocessors()).isPositive();
    assertThat(capability.maxThreadsPerBlock()).isBetween(128, 1024);
    assertThat(capability.sharedBytesPerBlock()).isBetween(16 << 10, 48 << 10);
    assertThat(capability.sharedBytesPerBlockOptIn())
        .isGreaterThanOrEqualTo(capability.sharedBytesPerBlock());
    assertThat(capability.memoryBytes()).isPositive();
    assertThat(device.capability()).isEqualTo(capability);
  }

  @Test
  void buffersAreAlignedAndDisjoint() {
    var buffers = IntStream.of(1, 255, 256, 257, 5000).mapToObj(device::allocate).toList();
    for (var buffer : buffers) {
      assertThat(buffer.address() % 256).isZero();
      for (var other : buffers) {
        assertThat(buffer.equals(other) || buffer.address() != other.address()).isTrue();
        if (buffer.address() < other.address()) {
          assertThat(buffer.address() + buffer.bytes()).isLessThanOrEqualTo(other.address());
        }
      }
    }
    assertThat(buffers).extracting(Buffer::bytes).containsExactly(1L, 255L, 256L, 257L, 5000L);
  }

  @Test
  void reportsUsedMemory() {
    long before = device.memory().used();
    var buffer = device.allocate(1 << 20);
    assertThat(device.memory().used()).isGreaterThanOrEqualTo(before + (1 << 20));
    buffer.close();
    stream.synchronize();
    assertThat(device.memory().used()).isEqualTo(before);
  }

  @Test
  void rejectsEmptyBuffers() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> device.allocate(0))
        .withMessageContaining("0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> device.allocate(-5))
        .withMessageContaining("-5");
  }

  @Test
  void survivesFailedAllocations() {
    long wanted = 1L << 50;
    var refused =
        catchThrowableOfType(DeviceException.OutOfMemory.class, () -> device.allocate(wanted));
    assertThat(refused).isNotNull();
    assertThat(refused.requestedBytes()).isEqualTo(wanted);
    assertThat(refused.freeBytes()).isBetween(1L, device.capability().memoryBytes());
    assertThat(refused)
        .hasMessage(
            "cannot allocate 1125899906842624 bytes of device memory: %d are free",
            refused.freeBytes());
    assertThat(intsOf(ints(1, 2, 3))).containsExactly(1, 2, 3);
  }

  @Test
  void uploadsAndDownloads() {
    var buffer = ints(1, 2, 3, 4, 5, 6);
    var middle = new int[3];
    stream.upload(MemorySegment.ofArray(new int[] {-3, -4}), buffer, 8);
    stream.download(buffer, 4, MemorySegment.ofArray(middle));
    stream.synchronize();
    assertThat(middle).containsExactly(2, -3, -4);
  }

  @Test
  void memoryAllocatedForWritingCanBeWritten() {
    var source = MemorySegment.ofArray(new int[] {1, 2, 3});
    var buffer = device.allocateForWriting(12);
    stream.upload(source, buffer, 0);
    stream.synchronize();
    assertThat(intsOf(buffer)).containsExactly(1, 2, 3);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> device.allocateForWriting(0))
        .withMessageContaining("0");
  }

  @Test
  void clearedMemoryHoldsNothingOfEarlierBuffers() {
    assumeTrue(device.clearsMemory());
    for (int i = 0; i < 10; i++) {
      var old = device.allocateForWriting(1 << 16);
      stream.fill(old, 0, old.bytes(), (byte) 42);
      stream.synchronize();
      old.close();
      var buffer = device.allocate(1 << 16);
      assertThat(intsOf(buffer)).doesNotContain(0x2A2A2A2A);
      buffer.close();
    }
  }

  @Test
  void copiesNativeMemory() {
    try (var arena = Arena.ofConfined()) {
      var host = arena.allocate(ValueLayout.JAVA_INT, 1000);
      for (int i = 0; i < 1000; i++) {
        host.setAtIndex(ValueLayout.JAVA_INT, i, i * i);
      }
      var buffer = device.allocate(4000);
      stream.upload(host, buffer, 0);
      stream.synchronize();
      assertThat(intsOf(buffer)).isEqualTo(host.toArray(ValueLayout.JAVA_INT));
    }
  }

  @Test
  void copiesHostMemory() {
    var before = device.memory();
    try (var up = device.allocateHost(4000);
        var down = device.allocateHost(4000)) {
      assertThat(up.segment().address() % 256).isZero();
      assertThat(up.segment().byteSize()).isEqualTo(4000);
      assertThat(device.memory().used()).isEqualTo(before.used());
      assertThat(device.memory().pooled()).isEqualTo(before.pooled());
      for (int i = 0; i < 1000; i++) {
        up.segment().setAtIndex(ValueLayout.JAVA_INT, i, i * i);
      }
      var buffer = device.allocate(4000);
      stream.upload(up.segment(), buffer, 0);
      stream.download(buffer, 0, down.segment().asSlice(0, 2000));
      stream.download(buffer, 2000, down.segment().asSlice(2000));
      stream.synchronize();
      assertThat(down.segment().mismatch(up.segment())).isEqualTo(-1);
    }
  }

  @Test
  void hostMemoryCanBeClosedDuringACopy() {
    var buffer = device.allocate(1 << 20);
    var host = device.allocateHost(1 << 20);
    host.segment().fill((byte) 7);
    var segment = host.segment();
    stream.upload(segment, buffer, 0);
    host.close();
    host.close();
    assertThat(intsOf(buffer)).containsOnly(0x07070707);
    assertThatIllegalStateException().isThrownBy(() -> segment.get(ValueLayout.JAVA_BYTE, 0));
    assertThatIllegalStateException().isThrownBy(() -> stream.upload(segment, buffer, 0));
    assertThatIllegalStateException().isThrownBy(() -> stream.download(buffer, 0, segment));
  }

  @Test
  void rejectsInvalidHostMemory() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> device.allocateHost(0))
        .withMessage("host memory must have at least 1 byte, got 0");
    var refused =
        catchThrowableOfType(
            DeviceException.OutOfMemory.class, () -> device.allocateHost(1L << 50));
    assertThat(refused)
        .hasMessageStartingWith("cannot allocate 1125899906842624 bytes of host memory: ");
    assertThat(refused.requestedBytes()).isEqualTo(1L << 50);
    assertThat(intsOf(ints(1, 2, 3))).containsExactly(1, 2, 3);
  }

  @Test
  void hostMemoryIsClosedWithTheDevice() {
    var other = open();
    var segment = other.allocateHost(64).segment();
    other.close();
    assertThat(segment.scope().isAlive()).isFalse();
    assertThatIllegalStateException().isThrownBy(() -> other.allocateHost(64));
  }

  @Test
  void copiesAndFillsOnTheDevice() {
    var from = ints(1, 2, 3, 4);
    var to = ints(9, 9, 9, 9);
    stream.copy(from, 4, to, 8, 8);
    stream.fill(to, 0, 3, (byte) 0x11);
    assertThat(intsOf(to)).containsExactly(0x111111, 9, 2, 3);
    assertThat(intsOf(from)).containsExactly(1, 2, 3, 4);
  }

  @Test
  void rejectsRangesOutsideABuffer() {
    var buffer = ints(1, 2, 3, 4);
    var other = ints(1, 2, 3, 4);
    var host = MemorySegment.ofArray(new int[2]);
    assertThatIllegalArgumentException().isThrownBy(() -> stream.upload(host, buffer, 9));
    assertThatIllegalArgumentException().isThrownBy(() -> stream.upload(host, buffer, -1));
    assertThatIllegalArgumentException().isThrownBy(() -> stream.download(buffer, 12, host));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> stream.download(buffer, Long.MAX_VALUE, host));
    assertThatIllegalArgumentException().isThrownBy(() -> stream.copy(buffer, 0, other, 8, 9));
    assertThatIllegalArgumentException().isThrownBy(() -> stream.copy(buffer, 8, other, 0, 9));
    assertThatIllegalArgumentException().isThrownBy(() -> stream.copy(buffer, 0, other, 0, -1));
    assertThatIllegalArgumentException().isThrownBy(() -> stream.fill(buffer, 0, 17, (byte) 0));
    assertThat(intsOf(buffer)).containsExactly(1, 2, 3, 4);
  }

  @Test
  void rejectsClosedBuffers() {
    var closed = ints(1, 2, 3, 4);
    var open = ints(1, 2, 3, 4);
    closed.close();
    closed.close();
    var host = MemorySegment.ofArray(new int[4]);
    assertThatIllegalStateException().isThrownBy(() -> stream.upload(host, closed, 0));
    assertThatIllegalStateException().isThrownBy(() -> stream.download(closed, 0, host));
    assertThatIllegalStateException().isThrownBy(() -> stream.copy(open, 0, closed, 0, 16));
    assertThatIllegalStateException().isThrownBy(() -> stream.copy(closed, 0, open, 0, 16));
    assertThatIllegalStateException().isThrownBy(() -> stream.fill(closed, 0, 16, (byte) 0));
    var launch =
        axpy(1, 32, Argument.of(closed), Argument.of(open), Argument.of(1f), Argument.of(4));
    assertThatIllegalStateException().isThrownBy(() -> stream.launch(launch));
  }

  @Test
  void runsAKernelOverManyBlocks() {
    int n = 10_000;
    var x = new float[n];
    var y = new float[n];
    var expected = new float[n];
    for (int i = 0; i < n; i++) {
      x[i] = i;
      y[i] = 0.5f * i;
      expected[i] = Math.fma(3, x[i], y[i]);
    }
    var target = floats(y);
    stream.launch(
        axpy(
            Math.ceilDiv(n, 96),
            96,
            Argument.of(floats(x)),
            Argument.of(target),
            Argument.of(3f),
            Argument.of(n)));
    assertThat(floatsOf(target)).isEqualTo(expected);
  }

  @Test
  void pointersCanHaveAnOffset() {
    var x = floats(1, 2, 3, 4);
    var y = floats(0, 0, 0, 0);
    stream.launch(
        axpy(
            1,
            32,
            new Argument.Pointer(x, 8),
            new Argument.Pointer(y, 4),
            Argument.of(2f),
            Argument.of(2)));
    assertThat(floatsOf(y)).containsExactly(0, 6, 8, 0);
  }

  @Test
  void rejectsPointersBeyondABuffer() {
    var x = floats(1, 2, 3, 4);
    for (long offset : new long[] {-1, 16, 17, Long.MIN_VALUE, Long.MAX_VALUE}) {
      assertThatThrownBy(() ->
              stream.launch(
                  axpy(
                      1,
                      32,
                      Argument.of(x),
                      new Argument.Pointer(x, offset),
                      Argument.of(2f),
                      Argument.of(1))))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage("got 1 bytes from byte %d on, the buffer has 16".formatted(offset));
      assertThatThrownBy(() -> stream.fill(x, offset, 1, (byte) 0))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage("got 1 bytes from byte %d on, the buffer has 16".formatted(offset));
    }
    assertThat(floatsOf(x)).containsExactly(1, 2, 3, 4);
  }

  @Test
  void blocksHaveSeparateSharedMemory() {
    var data = ints(IntStream.range(0, 512).toArray());
    stream.launch(
        new Launch(
            device.load(REVERSE_MODULE, "reverse"),
            Dim3.of(4),
            Dim3.of(128),
            512,
            List.of(Argument.of(data))));
    assertThat(intsOf(data))
        .isEqualTo(IntStream.range(0, 512).map(i -> i / 128 * 128 + 127 - i % 128).toArray());
  }

  @Test
  void rejectsInvalidLaunches() {
    var buffer = ints(1, 2, 3, 4);
    var pointer = Argument.of(buffer);
    var kernel = device.load(REVERSE_MODULE, "reverse");
    refuses(
        new Launch(kernel, Dim3.of(1), Dim3.of(129), 512, List.of(pointer)),
        "cannot launch reverse: got a block of 129x1x1 threads; the limit of the kernel is 128");
    refuses(
        new Launch(kernel, Dim3.of(1), Dim3.of(1, 1), -4, List.of(pointer)),
        "cannot launch reverse: got -4 bytes of dynamic shared memory; the minimum is 0");
    refuses(
        new Launch(kernel, Dim3.of(1, 65_536), Dim3.of(1), 512, List.of(pointer)),
        "cannot launch reverse: got a grid of 1x65536x1 blocks; the limit of %s for y and z is 65535"
            .formatted(device.capability().name()));
    refuses(
        new Launch(kernel, Dim3.of(1), new Dim3(1, 1, 65), 512, List.of(pointer)),
        "cannot launch reverse: got a block of 1x1x65 threads; the limit of %s for z is 64"
            .formatted(device.capability().name()));
    refuses(
        new Launch(kernel, Dim3.of(1), Dim3.of(1), 1 << 20, List.of(pointer)),
        "cannot launch reverse: got 1048576 bytes of shared memory; the limit of %s is %d per block"
            .formatted(device.capability().name(), device.capability().sharedBytesPerBlockOptIn()));
    refuses(
        new Launch(kernel, Dim3.of(1), Dim3.of(1), 0, List.of()),
        "cannot launch reverse: got 0 arguments; the kernel takes 1");
    refuses(
        axpy(1, 2000, pointer, pointer, Argument.of(1f), Argument.of(4)),
        "cannot launch axpy: got a block of 2000x1x1 threads; the limit of %s is %d"
            .formatted(device.capability().name(), device.capability().maxThreadsPerBlock()));
    refuses(
        axpy(1, 32, pointer, pointer, Argument.of(1), Argument.of(4)),
        "cannot launch axpy: got Scalar[type=S32, bits=1] for parameter a of type .f32");
    assertThat(intsOf(buffer)).containsExactly(1, 2, 3, 4);
  }

  private void refuses(Launch launch, String message) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> stream.launch(launch))
        .withMessage(message);
  }

  @Test
  void cachesLoadedKernels() {
    var first = device.load(AXPY_MODULE, "axpy");
    var again = device.load(Parser.parse(AXPY, "copy.ptx"), "axpy");
    assertThat(first.origin()).isNotEqualTo(LoadedKernel.Origin.HIT);
    assertThat(again.origin()).isEqualTo(LoadedKernel.Origin.HIT);
    assertThat(first.kernel().name()).isEqualTo("axpy");
  }

  @Test
  void rejectsUnknownKernels() {
    assertThatThrownBy(() -> device.load(AXPY_MODULE, "saxpy"))
        .isInstanceOf(DeviceException.LoadFailed.class)
        .hasMessageContaining("saxpy");
  }

  @Test
  void eventsMeasureTime() {
    var x = floats(new float[1000]);
    try (var before = stream.record()) {
      stream.launch(
          axpy(10, 100, Argument.of(x), Argument.of(x), Argument.of(1f), Argument.of(1000)));
      try (var after = stream.record()) {
        after.synchronize();
        assertThat(after.microsSince(before)).isPositive();
        assertThat(after.microsSince(after)).isZero();
      }
    }
  }

  @Test
  void streamsWaitForEvents() {
    var x = floats(1, 2, 3, 4);
    var y = floats(0, 0, 0, 0);
    var result = new float[4];
    try (var other = device.openStream()) {
      for (int i = 0; i < 10; i++) {
        stream.launch(axpy(1, 32, Argument.of(x), Argument.of(y), Argument.of(1f), Argument.of(4)));
      }
      try (var done = stream.record()) {
        other.await(done);
        other.launch(axpy(1, 32, Argument.of(y), Argument.of(y), Argument.of(1f), Argument.of(4)));
        other.download(y, 0, MemorySegment.ofArray(result));
        other.synchronize();
      }
    }
    assertThat(result).containsExactly(20, 40, 60, 80);
  }

  @Test
  void isThreadSafe() throws Exception {
    try (var threads = Executors.newFixedThreadPool(4)) {
      var all = IntStream.range(0, 8).mapToObj(i -> threads.submit(() -> square(i))).toList();
      for (int i = 0; i < all.size(); i++) {
        assertThat(all.get(i).get()).containsExactly(i * 10, i * 20);
      }
    }
  }

  /** Computes 10 and 20 times a number, on its own stream. */
  private float[] square(int number) {
    var result = new float[2];
    try (var own = device.openStream();
        var x = device.allocate(8);
        var y = device.allocate(8)) {
      own.upload(MemorySegment.ofArray(new float[] {number, 2 * number}), x, 0);
      own.fill(y, 0, 8, (byte) 0);
      for (int i = 0; i < 10; i++) {
        own.launch(axpy(1, 2, Argument.of(x), Argument.of(y), Argument.of(1f), Argument.of(2)));
      }
      own.download(y, 0, MemorySegment.ofArray(result));
      own.synchronize();
    }
    return result;
  }

  @Test
  @EnabledIf(
      value = "survivesFaults",
      disabledReason = "no test could follow it; run it alone with -Dathanor.test.faults")
  void synchronizeReportsFaults() {
    assertThatThrownBy(
            () -> {
              stream.launch(
                  axpy(
                      1,
                      32,
                      new Argument.Scalar(Type.U64, 0),
                      Argument.of(floats(1, 2)),
                      Argument.of(1f),
                      Argument.of(2)));
              stream.synchronize();
            })
        .isInstanceOfAny(DeviceException.KernelFault.class, DeviceException.Lost.class)
        .hasMessageContaining("axpy");
  }

  @Test
  void rejectsWorkOnClosedStreams() {
    var closed = device.openStream();
    closed.close();
    assertThatIllegalStateException().isThrownBy(closed::synchronize);
    assertThatIllegalStateException().isThrownBy(closed::record);
  }
}
