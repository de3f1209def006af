package dev.athanor.engine.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Type;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/** Checks memory, copies and cuBLAS. */
@SuppressWarnings("try") // some checks close early or twice
final class MemoryChecks extends DriverChecks {

  MemoryChecks(Path cache) {
    super(cache);
  }

  void describesTheDevice() {
    try (var device = open()) {
      var capability = device.capability();
      assertThat(capability.id()).isEqualTo("cuda:0");
      assertThat(device.busId()).hasValue("0000:3B:00.0");
      assertThat(capability.name()).isEqualTo("Fake H100");
      assertThat(capability.target()).isEqualTo(Target.of("sm_90a"));
      assertThat(capability.driver()).endsWith("CUDA 12.8");
      assertThat(capability.multiprocessors()).isEqualTo(132);
      assertThat(capability.sharedBytesPerBlock()).isEqualTo(48 << 10);
      assertThat(capability.sharedBytesPerBlockOptIn()).isEqualTo(227 << 10);
      assertThat(capability.memoryBytes()).isEqualTo(64 << 20);
    }
    assertThatExceptionOfType(DeviceException.Unavailable.class)
        .isThrownBy(() -> CudaDevice.open(1, cache))
        .withMessage("no GPU 1: the driver has 1, counted from 0");
  }

  void reusesMemory() {
    try (var device = open()) {
      var first = device.allocate(1000);
      long address = first.address();
      assertThat(address % 256).isZero();
      assertThat(first.bytes()).isEqualTo(1000);
      assertThat(device.memory().used()).isEqualTo(1024);
      first.close();
      first.close();
      assertThat(device.memory().used()).isZero();
      assertThat(device.memory().pooled()).isEqualTo(1024);
      try (var second = device.allocate(1024);
          var third = device.allocate(1)) {
        assertThat(second.address()).isEqualTo(address);
        assertThat(third.address()).isNotEqualTo(address);
        assertThat(device.memory().pooled()).isZero();
      }
      assertThat(FakeDriver.calls("cuMemAlloc_v2")).isEqualTo(2);
    }
  }

  void keepsMemoryForPendingWork() {
    try (var device = open();
        var stream = device.openStream();
        var idle = device.openStream()) {
      var first = device.allocate(4096);
      var second = device.allocate(4096);
      stream.fill(first, 0, 4096, (byte) 1);
      FakeDriver.hold();
      long busy = first.address();
      first.close();
      second.close(); // shares the fence of the first
      assertThat(FakeDriver.calls("cuEventRecord")).isEqualTo(1);
      try (var third = device.allocate(4096)) {
        assertThat(third.address()).isNotIn(busy, second.address());
        stream.synchronize();
        try (var fourth = device.allocate(4096)) {
          assertThat(fourth.address()).isEqualTo(busy);
        }
      }
      idle.synchronize();
    }
  }

  void runsOutOfMemory() {
    try (var device = open();
        var stream = device.openStream()) {
      device.allocate(40 << 20).close();
      try (var large = device.allocate(50 << 20)) { // fits once the first is freed
        assertThat(device.memory().pooled()).isZero();
        assertThatExceptionOfType(DeviceException.OutOfMemory.class)
            .isThrownBy(() -> device.allocate(20_000_001))
            .withMessageStartingWith("cannot allocate 20000001 bytes of device memory: ")
            .satisfies(e -> assertThat(e.freeBytes()).isEqualTo(device.memory().free()));
        stream.fill(large, 0, large.bytes(), (byte) 0);
        FakeDriver.hold();
      }
      try (var again = device.allocate(50 << 20)) { // waits for the fill
        assertThat(again.bytes()).isEqualTo(50 << 20);
      }
      assertThatIllegalArgumentException()
          .isThrownBy(() -> device.allocate(0))
          .withMessage("a buffer has at least 1 byte, got 0");
      assertThatExceptionOfType(DeviceException.OutOfMemory.class)
          .isThrownBy(() -> device.allocate(Long.MAX_VALUE));
    }
  }

  void copies() {
    // Longer than the staging ring, and no multiple of its slots.
    var data = bytes((9 << 20) + 12_345);
    try (var device = open();
        var stream = device.openStream();
        var a = device.allocate(data.length);
        var b = device.allocate(data.length);
        var arena = Arena.ofConfined()) {
      stream.upload(MemorySegment.ofArray(data), a, 0);
      stream.copy(a, 0, b, 0, data.length);
      var heap = new byte[data.length];
      stream.download(b, 0, MemorySegment.ofArray(heap));
      assertThat(heap).isEqualTo(data);

      var off = arena.allocateFrom(ValueLayout.JAVA_BYTE, data);
      stream.fill(a, 0, data.length, (byte) 7);
      stream.upload(off.asSlice(0, 100), a, 1000);
      var back = arena.allocate(1200);
      stream.download(a, 0, back);
      stream.synchronize();
      var expected = new byte[1200];
      Arrays.fill(expected, (byte) 7);
      System.arraycopy(data, 0, expected, 1000, 100);
      assertThat(back.toArray(ValueLayout.JAVA_BYTE)).isEqualTo(expected);

      var floats = new float[] {1, 2, 3};
      stream.upload(MemorySegment.ofArray(floats), b, 256);
      var readBack = new float[3];
      stream.download(b, 256, MemorySegment.ofArray(readBack));
      assertThat(readBack).isEqualTo(floats);
      for (int i = 0; i < 200; i++) { // more than one sweep
        stream.upload(off.asSlice(0, 8), a, 0);
      }
      stream.synchronize();
    }
  }

  void copiesPinnedMemoryDirectly() {
    var data = bytes(9 << 20);
    try (var device = open();
        var stream = device.openStream();
        var buffer = device.allocate(data.length);
        var up = device.allocateHost(data.length);
        var down = device.allocateHost(data.length)) {
      var before = device.memory();
      up.segment().copyFrom(MemorySegment.ofArray(data));
      stream.upload(up.segment(), buffer, 0);
      stream.download(buffer, 0, down.segment());
      assertThat(FakeDriver.calls("cuMemcpyHtoDAsync_v2")).isEqualTo(1);
      assertThat(FakeDriver.calls("cuMemcpyDtoHAsync_v2")).isEqualTo(1);
      assertThat(FakeDriver.calls("cuMemHostAlloc")).as("without staging").isEqualTo(2);
      assertThat(FakeDriver.calls("cuStreamSynchronize")).isZero();
      assertThat(FakeDriver.calls("cuEventSynchronize")).isZero();
      stream.synchronize();
      assertThat(down.segment().mismatch(MemorySegment.ofArray(data))).isEqualTo(-1);
      assertThat(device.memory()).isEqualTo(before);
    }
    assertThat(FakeDriver.calls("cuMemFreeHost")).isEqualTo(2);
  }

  void keepsPinnedMemoryForPendingCopies() {
    try (var device = open();
        var stream = device.openStream();
        var buffer = device.allocate(64)) {
      var first = device.allocateHost(64);
      stream.upload(first.segment(), buffer, 0);
      FakeDriver.hold();
      first.close();
      first.close();
      assertThat(FakeDriver.calls("cuMemFreeHost")).isZero();
      stream.synchronize();
      device.allocateHost(64).close();
      assertThat(FakeDriver.calls("cuMemFreeHost")).isEqualTo(2);

      var second = device.allocateHost(64);
      stream.upload(second.segment(), buffer, 0);
      FakeDriver.hold();
      second.close();
      FakeDriver.fail("cuMemHostAlloc", 2);
      try (var third = device.allocateHost(64)) { // waits until the second can be freed
        assertThat(third.segment().byteSize()).isEqualTo(64);
        assertThat(FakeDriver.calls("cuMemFreeHost")).isEqualTo(3);
        FakeDriver.fail("cuMemHostAlloc", 2);
        assertThatExceptionOfType(DeviceException.OutOfMemory.class)
            .isThrownBy(() -> device.allocateHost(100))
            .withMessage(
                "cannot allocate 100 bytes of host memory: cuMemHostAlloc"
                    + " failed with CUDA_ERROR_OUT_OF_MEMORY (out of memory)");
      }
      device.allocateHost(64); // closed by the device
    }
    assertThat(FakeDriver.calls("cuMemFreeHost")).isEqualTo(FakeDriver.calls("cuMemHostAlloc") - 2);
  }

  void closesAStreamOnce() throws InterruptedException {
    int streams = 100;
    try (var device = open()) {
      for (int i = 0; i < streams; i++) {
        var stream = device.openStream();
        var closers =
            List.of(
                Thread.ofPlatform().unstarted(stream::close),
                Thread.ofPlatform().unstarted(stream::close));
        // both block in close() before either can check whether the stream is closed
        synchronized (stream) {
          for (var closer : closers) {
            closer.start();
            while (closer.getState() != Thread.State.BLOCKED) {
              Thread.onSpinWait();
            }
          }
        }
        for (var closer : closers) {
          closer.join();
        }
        assertThatIllegalStateException()
            .isThrownBy(stream::synchronize)
            .withMessage("the stream is closed");
      }
    }
    assertThat(FakeDriver.calls("cuStreamCreate")).isEqualTo(1);
    assertThat(FakeDriver.calls("cuStreamDestroy_v2")).isEqualTo(1);
  }

  private static int liveEvents() {
    return FakeDriver.calls("cuEventCreate") - FakeDriver.calls("cuEventDestroy_v2");
  }

  void destroysEvents() {
    try (var device = open();
        var buffer = device.allocate(1 << 20);
        var arena = Arena.ofConfined()) {
      var memory = arena.allocate(8);
      var stream = device.openStream();
      FakeDriver.hold();
      for (int i = 0; i < 200; i++) { // more than one sweep
        stream.upload(memory, buffer, 0);
      }
      assertThat(liveEvents()).isPositive();
      stream.synchronize();
      assertThat(liveEvents()).isZero();

      stream.upload(MemorySegment.ofArray(new byte[1 << 20]), buffer, 0);
      assertThat(liveEvents()).as("of the staging ring").isPositive();
      stream.close();
      assertThat(liveEvents()).isZero();
    }
  }

  void destroysAnEventThatCannotBeRecorded() {
    try (var device = open();
        var stream = device.openStream();
        var buffer = device.allocate(8)) {
      FakeDriver.fail("cuEventRecord", 1);
      assertThatIllegalStateException().isThrownBy(stream::record);
      assertThat(liveEvents()).isZero();
      FakeDriver.fail("cuEventRecord", 1);
      assertThatIllegalStateException()
          .isThrownBy(() -> stream.upload(MemorySegment.ofArray(new byte[8]), buffer, 0));
      assertThat(liveEvents()).isZero();
    }
  }

  void rejectsInvalidRanges() {
    try (var device = open();
        var stream = device.openStream();
        var buffer = device.allocate(100)) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> stream.fill(buffer, 90, 11, (byte) 0))
          .withMessage("got 11 bytes from byte 90 on, the buffer has 100");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> stream.upload(MemorySegment.ofArray(new byte[4]), buffer, -1));
      assertThatIllegalArgumentException()
          .isThrownBy(() -> stream.fill(buffer, Long.MAX_VALUE, 2, (byte) 0));
      assertThatIllegalArgumentException()
          .isThrownBy(() -> stream.copy(buffer, 0, buffer, 10, 20))
          .withMessageContaining("overlap");
      assertThatIllegalArgumentException()
          .isThrownBy(
              () -> stream.download(buffer, 0, MemorySegment.ofArray(new byte[4]).asReadOnly()))
          .withMessageContaining("read-only");
      var arena = Arena.ofConfined();
      var freed = arena.allocate(4);
      arena.close();
      assertThatIllegalStateException().isThrownBy(() -> stream.upload(freed, buffer, 0));
      buffer.close();
      assertThatIllegalStateException()
          .isThrownBy(() -> stream.fill(buffer, 0, 1, (byte) 0))
          .withMessage("the buffer of 100 bytes is closed");
      assertThat(FakeDriver.calls("cuMemsetD8Async")).isZero();
      stream.close();
      assertThatIllegalStateException()
          .isThrownBy(stream::synchronize)
          .withMessage("the stream is closed");
    }
  }

  void multiplies() {
    int m = 3;
    int n = 5;
    int k = 4;
    var a = new float[m * k];
    var b = new float[k * n];
    for (int i = 0; i < a.length; i++) {
      a[i] = i - 5;
    }
    for (int i = 0; i < b.length; i++) {
      b[i] = 2 * i - 7;
    }
    try (var device = open();
        var stream = device.openStream();
        var other = device.openStream();
        var blas = CuBlas.open(device);
        var deviceA = device.allocate(4L * a.length);
        var deviceB = device.allocate(4L * b.length);
        var deviceC = device.allocate(4L * m * n)) {
      assertThat(blas.version()).isEqualTo("12.8.4");
      stream.upload(MemorySegment.ofArray(a), deviceA, 0);
      stream.upload(MemorySegment.ofArray(b), deviceB, 0);
      for (int variant = 0; variant < 4; variant++) {
        boolean transposeA = variant % 2 == 1;
        boolean transposeB = variant / 2 == 1;
        var on = variant < 2 ? stream : other;
        blas.gemm(
            on,
            Type.F32,
            Type.F32,
            transposeA,
            transposeB,
            m,
            n,
            k,
            0.5f,
            deviceA,
            deviceB,
            deviceC);
        var c = new float[m * n];
        on.download(deviceC, 0, MemorySegment.ofArray(c));
        var expected = new float[m * n];
        for (int i = 0; i < m; i++) {
          for (int j = 0; j < n; j++) {
            for (int l = 0; l < k; l++) {
              expected[i * n + j] +=
                  a[transposeA ? l * m + i : i * k + l] * b[transposeB ? j * k + l : l * n + j];
            }
            expected[i * n + j] *= 0.5f;
          }
        }
        assertThat(c).isEqualTo(expected);
      }
      for (var type : List.of(Type.F16, Type.BF16)) {
        var halves = new short[a.length];
        for (int i = 0; i < a.length; i++) {
          halves[i] =
              type == Type.F16
                  ? Float.floatToFloat16(a[i])
                  : (short) (Float.floatToRawIntBits(a[i]) >> 16);
        }
        stream.upload(MemorySegment.ofArray(halves), deviceA, 0);
        blas.gemm(stream, type, Type.F32, false, true, m, m, k, 1, deviceA, deviceA, deviceC);
        var c = new float[m * m];
        stream.download(deviceC, 0, MemorySegment.ofArray(c));
        assertThat(c[1]).isEqualTo(a[0] * a[4] + a[1] * a[5] + a[2] * a[6] + a[3] * a[7]);
        blas.gemm(stream, type, type, false, true, m, m, k, 1, deviceA, deviceA, deviceC);
      }
      assertThatIllegalStateException()
          .isThrownBy(() ->
              device.capture(captured ->
                  blas.gemm(
                      captured, Type.F32, Type.F32, false, false, 1, 1, 1, 1, deviceA, deviceB,
                      deviceC)))
          .withMessage(
              "a captured stream accepts launches, device-to-device copies and fills, got a"
                  + " product of cuBLAS");
      assertThatIllegalArgumentException()
          .isThrownBy(() ->
              blas.gemm(
                  stream, Type.F64, Type.F64, false, false, 1, 1, 1, 1, deviceA, deviceB, deviceC))
          .withMessage("A and B must be f32, f16 or bf16, got f64");
      assertThatIllegalArgumentException()
          .isThrownBy(() ->
              blas.gemm(
                  stream, Type.F32, Type.F32, false, false, m, n, 5, 1, deviceA, deviceB, deviceC))
          .withMessage("got 60 bytes from byte 0 on, the buffer has 48");
    }
  }

  private static byte[] bytes(int count) {
    var bytes = new byte[count];
    new Random(count).nextBytes(bytes);
    return bytes;
  }
}
