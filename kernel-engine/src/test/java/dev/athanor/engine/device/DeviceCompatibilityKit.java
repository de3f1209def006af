package dev.athanor.engine.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Parser;
import dev.athanor.engine.ptx.Type;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What every {@link Device} has to do. A device's own test extends it. */
public abstract class DeviceCompatibilityKit {

  /** y[i] = a * x[i] + y[i] for i below n. */
  private static final String AXPY =
      """
      .version 7.4
      .target sm_80
      .address_size 64
      .visible .entry axpy(.param .u64 x, .param .u64 y, .param .f32 a, .param .u32 n)
      {
        .reg .pred %p<2>;
        .reg .b32 %r<6>;
        .reg .b64 %rd<5>;
        .reg .f32 %f<5>;
        ld.param.u64 %rd0, [x];
        ld.param.u64 %rd1, [y];
        ld.param.f32 %f0, [a];
        ld.param.u32 %r0, [n];
        mov.u32 %r1, %tid.x;
        mov.u32 %r2, %ctaid.x;
        mov.u32 %r3, %ntid.x;
        mad.lo.u32 %r4, %r2, %r3, %r1;
        setp.ge.u32 %p0, %r4, %r0;
        @%p0 bra DONE;
        mul.wide.u32 %rd2, %r4, 4;
        add.u64 %rd3, %rd0, %rd2;
        add.u64 %rd4, %rd1, %rd2;
        ld.global.f32 %f1, [%rd3];
        ld.global.f32 %f2, [%rd4];
        fma.rn.f32 %f3, %f0, %f1, %f2;
        st.global.f32 [%rd4], %f3;
      DONE:
        ret;
      }
      """;

  /** Each block of 128 threads writes its ints in reverse, by way of dynamic shared memory. */
  private static final String REVERSE =
      """
      .version 7.4
      .target sm_80
      .address_size 64
      .extern .shared .align 16 .b8 tile[];
      .visible .entry reverse(.param .u64 data)
      .maxntid 128, 1, 1
      {
        .reg .b32 %r<9>;
        .reg .b64 %rd<4>;
        ld.param.u64 %rd0, [data];
        mov.u32 %r0, %tid.x;
        mov.u32 %r1, %ctaid.x;
        shl.b32 %r2, %r1, 7;
        add.u32 %r3, %r2, %r0;
        mul.wide.u32 %rd1, %r3, 4;
        add.u64 %rd2, %rd0, %rd1;
        ld.global.u32 %r4, [%rd2];
        mov.u32 %r5, tile;
        shl.b32 %r6, %r0, 2;
        add.u32 %r6, %r6, %r5;
        st.shared.u32 [%r6], %r4;
        bar.sync 0;
        sub.u32 %r7, 508, %r6;
        ld.shared.u32 %r8, [%r7];
        st.global.u32 [%rd2], %r8;
        ret;
      }
      """;

  private static final Module AXPY_MODULE = Parser.parse(AXPY, "axpy.ptx");
  private static final Module REVERSE_MODULE = Parser.parse(REVERSE, "reverse.ptx");

  private Device device;
  private Stream stream;

  /** A device of its own for a test. */
  protected abstract Device open();

  @BeforeEach
  void openDevice() {
    device = open();
    stream = device.openStream();
  }

  @AfterEach
  void closeDevice() {
    stream.close();
    device.close();
  }

  private Buffer floats(float... values) {
    var buffer = device.allocate(4L * values.length);
    stream.upload(MemorySegment.ofArray(values), buffer, 0);
    return buffer;
  }

  private Buffer ints(int... values) {
    var buffer = device.allocate(4L * values.length);
    stream.upload(MemorySegment.ofArray(values), buffer, 0);
    return buffer;
  }

  private float[] floatsOf(Buffer buffer) {
    var values = new float[(int) (buffer.bytes() / 4)];
    stream.download(buffer, 0, MemorySegment.ofArray(values));
    stream.synchronize();
    return values;
  }

  private int[] intsOf(Buffer buffer) {
    var values = new int[(int) (buffer.bytes() / 4)];
    stream.download(buffer, 0, MemorySegment.ofArray(values));
    stream.synchronize();
    return values;
  }

  private Launch axpy(int blocks, int threads, Argument... arguments) {
    return new Launch(
        device.load(AXPY_MODULE, "axpy"), Dim3.of(blocks), Dim3.of(threads), 0, List.of(arguments));
  }

  @Test
  void saysWhatItIs() {
    var capability = device.capability();
    assertThat(capability.id()).matches("[a-z]+:\\d+");
    assertThat(capability.name()).isNotBlank();
    assertThat(capability.driver()).isNotBlank();
    assertThat(capability.target().sm()).isGreaterThanOrEqualTo(80);
    assertThat(capability.multiprocessors()).isPositive();
    assertThat(capability.maxThreadsPerBlock()).isEqualTo(1024);
    assertThat(capability.sharedBytesPerBlock()).isEqualTo(49152);
    assertThat(capability.sharedBytesPerBlockOptIn()).isGreaterThanOrEqualTo(49152);
    assertThat(capability.memoryBytes()).isPositive();
    assertThat(device.capability()).isEqualTo(capability);
  }

  @Test
  void buffersLieAtMultiplesOf256AndDoNotOverlap() {
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
  void memoryInUseGoesUpAndDown() {
    long before = device.memory().used();
    var buffer = device.allocate(1 << 20);
    assertThat(device.memory().used()).isGreaterThanOrEqualTo(before + (1 << 20));
    buffer.close();
    stream.synchronize();
    assertThat(device.memory().used()).isEqualTo(before);
  }

  @Test
  void anEmptyBufferIsRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> device.allocate(0))
        .withMessageContaining("0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> device.allocate(-5))
        .withMessageContaining("-5");
  }

  @Test
  void tooLargeABufferIsRefusedAndTheDeviceGoesOn() {
    long wanted = 1L << 50;
    var refused =
        catchThrowableOfType(DeviceException.OutOfMemory.class, () -> device.allocate(wanted));
    assertThat(refused).isNotNull();
    assertThat(refused.requestedBytes()).isEqualTo(wanted);
    assertThat(refused.freeBytes()).isBetween(1L, device.capability().memoryBytes());
    assertThat(refused)
        .hasMessage(
            "1125899906842624 bytes of device memory were asked for, %d are free",
            refused.freeBytes());
    assertThat(intsOf(ints(1, 2, 3))).containsExactly(1, 2, 3);
  }

  @Test
  void whatGoesUpComesDown() {
    var buffer = ints(1, 2, 3, 4, 5, 6);
    var middle = new int[3];
    stream.upload(MemorySegment.ofArray(new int[] {-3, -4}), buffer, 8);
    stream.download(buffer, 4, MemorySegment.ofArray(middle));
    stream.synchronize();
    assertThat(middle).containsExactly(2, -3, -4);
  }

  @Test
  void nativeMemoryServesAsHostMemory() {
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
  void copiesAndFillsOnTheDevice() {
    var from = ints(1, 2, 3, 4);
    var to = ints(9, 9, 9, 9);
    stream.copy(from, 4, to, 8, 8);
    stream.fill(to, 0, 3, (byte) 0x11);
    assertThat(intsOf(to)).containsExactly(0x111111, 9, 2, 3);
    assertThat(intsOf(from)).containsExactly(1, 2, 3, 4);
  }

  @Test
  void rangesOutsideABufferAreRefused() {
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
  void closedBuffersAreRefused() {
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
  void aPointerMayStartWithinABuffer() {
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
  void blocksHaveSharedMemoryOfTheirOwn() {
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
  void unsuitableLaunchesAreRefusedInWords() {
    var buffer = ints(1, 2, 3, 4);
    var pointer = Argument.of(buffer);
    var kernel = device.load(REVERSE_MODULE, "reverse");
    refuses(
        new Launch(kernel, Dim3.of(1), Dim3.of(129), 512, List.of(pointer)),
        "cannot launch reverse: got a block of 129x1x1 threads, the kernel is for 128 at most");
    refuses(
        new Launch(kernel, Dim3.of(1), Dim3.of(1, 1), -4, List.of(pointer)),
        "cannot launch reverse: got -4 bytes of dynamic shared memory, 0 is the least");
    refuses(
        new Launch(kernel, Dim3.of(1, 65_536), Dim3.of(1), 512, List.of(pointer)),
        "cannot launch reverse: got a grid of 1x65536x1 blocks, 65535 is the most for y and z on "
            + device.capability().name());
    refuses(
        new Launch(kernel, Dim3.of(1), new Dim3(1, 1, 65), 512, List.of(pointer)),
        "cannot launch reverse: got a block that is 65 deep, 64 is the most on "
            + device.capability().name());
    refuses(
        new Launch(kernel, Dim3.of(1), Dim3.of(1), 1 << 20, List.of(pointer)),
        "cannot launch reverse: got 1048576 bytes of shared memory, %s has %d for a block"
            .formatted(device.capability().name(), device.capability().sharedBytesPerBlockOptIn()));
    refuses(
        new Launch(kernel, Dim3.of(1), Dim3.of(1), 0, List.of()),
        "cannot launch reverse: got 0 arguments, the kernel takes 1");
    refuses(
        axpy(1, 2000, pointer, pointer, Argument.of(1f), Argument.of(4)),
        "cannot launch axpy: got a block of 2000x1x1 threads, %s has 1024 for one"
            .formatted(device.capability().name()));
    refuses(
        axpy(1, 32, pointer, pointer, Argument.of(1), Argument.of(4)),
        "cannot launch axpy: got Scalar[type=S32, bits=1] for parameter a, which is .f32");
    refuses(
        new Launch(
            device.load(AXPY_MODULE, "axpy"),
            Dim3.of(1),
            Dim3.of(1),
            16,
            List.of(pointer, pointer, Argument.of(1f), Argument.of(4))),
        "cannot launch axpy: got 16 bytes of dynamic shared memory, but the kernel has no dynamic"
            + " array");
    assertThat(intsOf(buffer)).containsExactly(1, 2, 3, 4);
  }

  private void refuses(Launch launch, String message) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> stream.launch(launch))
        .withMessage(message);
  }

  @Test
  void loadingTheSameKernelAgainIsAHit() {
    var first = device.load(AXPY_MODULE, "axpy");
    var again = device.load(Parser.parse(AXPY, "copy.ptx"), "axpy");
    assertThat(first.origin()).isNotEqualTo(LoadedKernel.Origin.HIT);
    assertThat(again.origin()).isEqualTo(LoadedKernel.Origin.HIT);
    assertThat(first.kernel().name()).isEqualTo("axpy");
  }

  @Test
  void aKernelThatIsNotInTheModuleIsRefused() {
    assertThatThrownBy(() -> device.load(AXPY_MODULE, "saxpy"))
        .isInstanceOf(DeviceException.LoadFailed.class)
        .hasMessageContaining("saxpy");
  }

  @Test
  void eventsMeasureTheTimeBetweenThem() {
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
  void aStreamWaitsForAnother() {
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
  void severalThreadsUseItAtOnce() throws Exception {
    try (var threads = Executors.newFixedThreadPool(4)) {
      var all = IntStream.range(0, 8).mapToObj(i -> threads.submit(() -> square(i))).toList();
      for (int i = 0; i < all.size(); i++) {
        assertThat(all.get(i).get()).containsExactly(i * 10, i * 20);
      }
    }
  }

  /** Ten times a number and twice that, on a stream of its own. */
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
  void theFaultOfAKernelSurfacesAtTheLatestWhenItsStreamIsWaitedFor() {
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
  void nothingWorksOnAClosedStream() {
    var closed = device.openStream();
    closed.close();
    assertThatIllegalStateException().isThrownBy(closed::synchronize);
    assertThatIllegalStateException().isThrownBy(closed::record);
  }
}
