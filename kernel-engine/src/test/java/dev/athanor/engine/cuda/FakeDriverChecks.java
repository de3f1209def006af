package dev.athanor.engine.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.device.LoadedKernel;
import dev.athanor.engine.device.LoadedKernel.Origin;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.Version;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;

/**
 * What a CUDA device does with a driver, checked in a process of its own, for the dynamic linker
 * looks for libraries where it was told to when the process began. {@link FakeDriverTest} starts it
 * with the driver of src/test/c/fakecuda.c. Each check is a method; one line of output tells of it.
 */
@SuppressWarnings("try") // closing early, and twice, is what some checks are about
final class FakeDriverChecks {

  private static final Kernel SET_BYTES =
      kernel("set_bytes", 0, Type.U64, Type.U64, Type.U32, Type.F32, Type.U16, Type.F64);

  private final Path cache;

  private FakeDriverChecks(Path cache) {
    this.cache = cache;
  }

  /**
   * Runs one check.
   *
   * @param arguments its name, and a directory for machine code
   */
  public static void main(String[] arguments) throws IOException {
    var checks = new FakeDriverChecks(Path.of(arguments[1]));
    switch (arguments[0]) {
      case "describesTheDevice" -> checks.describesTheDevice();
      case "reusesMemory" -> checks.reusesMemory();
      case "keepsMemoryThatWorkMayUse" -> checks.keepsMemoryThatWorkMayUse();
      case "runsOutOfMemory" -> checks.runsOutOfMemory();
      case "copies" -> checks.copies();
      case "refusesRanges" -> checks.refusesRanges();
      case "launches" -> checks.launches();
      case "raisesSharedMemoryOnce" -> checks.raisesSharedMemoryOnce();
      case "refusesLaunches" -> checks.refusesLaunches();
      case "times" -> checks.times();
      case "loadsOnce" -> checks.loadsOnce();
      case "loadsFromDisk" -> checks.loadsFromDisk();
      case "tellsWhyLoadingFailed" -> checks.tellsWhyLoadingFailed();
      case "loadsSlowCodeAsAWhole" -> checks.loadsSlowCodeAsAWhole();
      case "worksOnManyVirtualThreads" -> checks.worksOnManyVirtualThreads();
      case "loadsWhatTheLinkerRefuses" -> checks.loadsWhatTheLinkerRefuses();
      case "worksOnAnyThread" -> checks.worksOnAnyThread();
      case "isLost" -> checks.isLost();
      case "multiplies" -> checks.multiplies();
      case "closes" -> checks.closes();
      case "origin" -> checks.origin();
      case "probe" -> System.out.println(CudaDriver.probe());
      default -> throw new IllegalArgumentException(arguments[0]);
    }
  }

  private CudaDevice open() {
    return CudaDevice.open(0, cache);
  }

  private static Kernel kernel(String name, int sharedBytes, Type... parameters) {
    var shared =
        List.of(
            new Kernel.SharedArray("tile", 16, sharedBytes),
            new Kernel.SharedArray("extra", 16, Kernel.SharedArray.DYNAMIC));
    return new Kernel(
        name,
        IntStream.range(0, parameters.length)
            .mapToObj(i -> new Kernel.Parameter("p" + i, parameters[i]))
            .toList(),
        sharedBytes == 0 ? List.of() : shared,
        256,
        List.of());
  }

  private static Module module(Kernel... kernels) {
    return new Module(new Version(7, 4), Target.SM_80, List.of(kernels));
  }

  private static LoadedKernel load(CudaDevice device, Kernel kernel) {
    return device.load(module(kernel), kernel.name());
  }

  private static byte[] bytes(int count) {
    var bytes = new byte[count];
    new Random(count).nextBytes(bytes);
    return bytes;
  }

  void describesTheDevice() {
    try (var device = open()) {
      var capability = device.capability();
      assertThat(capability.id()).isEqualTo("cuda:0");
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
        .withMessage("there is no GPU 1; the driver has 1, counted from 0");
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

  void keepsMemoryThatWorkMayUse() {
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
      try (var large = device.allocate(50 << 20)) { // only once the first is given back
        assertThat(device.memory().pooled()).isZero();
        assertThatExceptionOfType(DeviceException.OutOfMemory.class)
            .isThrownBy(() -> device.allocate(20_000_001))
            .withMessageStartingWith("20000001 bytes of device memory were asked for, ")
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
      for (int i = 0; i < 200; i++) { // more than is held before it is looked through
        stream.upload(off.asSlice(0, 8), a, 0);
      }
      stream.synchronize();
    }
  }

  void refusesRanges() {
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
      var gone = arena.allocate(4);
      arena.close();
      assertThatIllegalStateException().isThrownBy(() -> stream.upload(gone, buffer, 0));
      buffer.close();
      assertThatIllegalStateException()
          .isThrownBy(() -> stream.fill(buffer, 0, 1, (byte) 0))
          .withMessage("a buffer of 100 bytes is closed");
      assertThat(FakeDriver.calls("cuMemsetD8Async")).isZero();
      stream.close();
      assertThatIllegalStateException()
          .isThrownBy(stream::synchronize)
          .withMessage("the stream is closed");
    }
  }

  void launches() {
    try (var device = open();
        var stream = device.openStream();
        var buffer = device.allocate(64)) {
      stream.fill(buffer, 0, 64, (byte) 1);
      stream.launch(
          new Launch(
              load(device, SET_BYTES),
              new Dim3(5, 6, 7),
              new Dim3(8, 4, 2),
              0,
              List.of(
                  new Argument.Pointer(buffer, 16),
                  Argument.of(8L),
                  Argument.of(-3),
                  Argument.of(1.5f),
                  new Argument.Scalar(Type.F16, 0xFFFF_3C00L), // only 16 bits of it are taken
                  Argument.of(-2.0))));
      stream.synchronize();

      var seen = FakeDriver.lastLaunch();
      assertThat(seen.name()).isEqualTo("set_bytes");
      assertThat(seen.grid()).containsExactly(5, 6, 7);
      assertThat(seen.block()).containsExactly(8, 4, 2);
      assertThat(seen.shared()).isZero();
      assertThat(seen.values())
          .containsExactly(
              buffer.address() + 16,
              8L,
              0xFFFF_FFFDL,
              (long) Float.floatToRawIntBits(1.5f),
              0x3C00L,
              Double.doubleToRawLongBits(-2.0));
      var after = new byte[64];
      stream.download(buffer, 0, MemorySegment.ofArray(after));
      var expected = new byte[64];
      Arrays.fill(expected, (byte) 1);
      Arrays.fill(expected, 16, 24, (byte) -3);
      assertThat(after).isEqualTo(expected);
    }
  }

  void raisesSharedMemoryOnce() {
    var wide = kernel("wide", 1024);
    try (var device = open();
        var stream = device.openStream()) {
      var loaded = load(device, wide);
      for (int dynamic : new int[] {0, 47 << 10, 100 << 10, 226 << 10}) {
        stream.launch(new Launch(loaded, Dim3.of(1), Dim3.of(32), dynamic, List.of()));
        assertThat(FakeDriver.lastLaunch().shared()).isEqualTo(dynamic);
      }
      assertThat(FakeDriver.calls("cuFuncSetAttribute")).isEqualTo(1);
    }
  }

  void refusesLaunches() {
    var plain = kernel("plain", 0);
    try (var device = open();
        var stream = device.openStream();
        var closed = device.allocate(8)) {
      var loaded = load(device, plain);
      assertThatIllegalArgumentException()
          .isThrownBy(
              () -> stream.launch(new Launch(loaded, Dim3.of(1), Dim3.of(512), 0, List.of())))
          .withMessageContaining("256 are the most");
      closed.close();
      var setter = load(device, kernel("set_one", 0, Type.U64));
      assertThatIllegalStateException()
          .isThrownBy(() ->
              stream.launch(
                  new Launch(setter, Dim3.of(1), Dim3.of(1), 0, List.of(Argument.of(closed)))));
      assertThat(FakeDriver.calls("cuLaunchKernel")).isZero();
      FakeDriver.fail("cuLaunchKernel", 1);
      assertThatExceptionOfType(DeviceException.KernelFault.class)
          .isThrownBy(() -> stream.launch(new Launch(loaded, Dim3.of(1), Dim3.of(1), 0, List.of())))
          .withMessageStartingWith("kernel plain failed: the launch was refused with ");
      stream.launch(new Launch(loaded, Dim3.of(1), Dim3.of(1), 0, List.of()));
      stream.synchronize();
    }
  }

  void times() {
    try (var device = open();
        var stream = device.openStream();
        var other = device.openStream();
        var start = stream.record();
        var end = stream.record()) {
      other.await(end);
      end.synchronize();
      assertThat(end.microsSince(start)).isEqualTo(1500.0);
      FakeDriver.hold();
      assertThatIllegalStateException().isThrownBy(() -> end.microsSince(start));
      start.close();
      assertThatIllegalStateException()
          .isThrownBy(() -> end.microsSince(start))
          .withMessage("the event is closed");
    }
  }

  void loadsOnce() {
    try (var device = open()) {
      var module = module(SET_BYTES, kernel("plain", 0));
      assertThat(device.load(module, "set_bytes").origin()).isEqualTo(Origin.COMPILED);
      assertThat(device.load(module, "set_bytes").origin()).isEqualTo(Origin.HIT);
      var second = (CudaKernel) device.load(module(SET_BYTES, kernel("plain", 0)), "plain");
      assertThat(second.origin()).isEqualTo(Origin.HIT);
      assertThat(second.registers()).isEqualTo(8);
      assertThat(second.localBytes()).isZero();
      assertThat(second.log()).contains("Used 8 registers");
      assertThat(FakeDriver.calls("cuLinkComplete")).isEqualTo(1);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> device.load(module, "fancy"))
          .withMessage("the module has no kernel fancy; it has set_bytes, plain");
    }
  }

  void loadsFromDisk() throws IOException {
    var module = module(SET_BYTES);
    try (var device = open()) {
      assertThat(device.load(module, "set_bytes").origin()).isEqualTo(Origin.COMPILED);
    }
    var file = onlyFile();
    var good = Files.readAllBytes(file);
    try (var device = open()) {
      assertThat(device.load(module, "set_bytes").origin()).isEqualTo(Origin.DISK);
    }
    var cut = Arrays.copyOf(good, good.length - 1);
    var altered = good.clone();
    altered[good.length / 2] ^= 1;
    for (var corrupt : List.of(new byte[0], cut, altered)) {
      Files.write(file, corrupt);
      try (var device = open()) {
        assertThat(device.load(module, "set_bytes").origin()).isEqualTo(Origin.COMPILED);
      }
      assertThat(Files.readAllBytes(onlyFile())).isEqualTo(good);
    }
    new CubinCache(cache).put(file.getFileName().toString().replace(".cubin", ""), new byte[9]);
    try (var device = open()) { // whole, but no code that the driver takes
      assertThat(device.load(module, "set_bytes").origin()).isEqualTo(Origin.COMPILED);
    }
    var unusable = Files.createFile(cache.resolve("file"));
    try (var device = CudaDevice.open(0, unusable)) {
      assertThat(device.load(module, "set_bytes").origin()).isEqualTo(Origin.COMPILED);
    }
  }

  void origin() {
    try (var device = open()) {
      System.out.println(load(device, SET_BYTES).origin());
    }
  }

  private Path onlyFile() throws IOException {
    try (var files = Files.list(cache)) {
      return files
          .reduce((a, b) -> {
            throw new AssertionError(a + " and " + b);
          })
          .orElseThrow();
    }
  }

  void tellsWhyLoadingFailed() {
    try (var device = open()) {
      assertThatExceptionOfType(DeviceException.LoadFailed.class)
          .isThrownBy(() -> load(device, kernel("broken", 0)))
          .withMessage(
              "kernel broken could not be loaded: CUDA_ERROR_INVALID_PTX (a PTX JIT compilation"
                  + " failed)\nptxas application ptx input, line 7; error   : Unknown symbol 'x'");
      var blackwell = new Module(new Version(8, 6), Target.of("sm_100"), List.of(SET_BYTES));
      assertThatExceptionOfType(DeviceException.LoadFailed.class)
          .isThrownBy(() -> device.load(blackwell, "set_bytes"))
          .withMessageEndingWith("it is for sm_100, Fake H100 is sm_90a");
      assertThat(load(device, SET_BYTES).origin()).isEqualTo(Origin.COMPILED);
    }
  }

  void loadsSlowCodeAsAWhole() {
    try (var device = open()) {
      var slow = (CudaKernel) load(device, kernel("slow", 0));
      assertThat(slow.origin()).isEqualTo(Origin.COMPILED);
      assertThat(slow.log()).isEqualTo("ptxas info    : Used 8 registers");
    }
    assertThat(cache).isEmptyDirectory();
  }

  void loadsWhatTheLinkerRefuses() {
    try (var device = open()) {
      FakeDriver.fail("cuLinkAddData_v2", 218);
      assertThat(load(device, SET_BYTES).origin()).isEqualTo(Origin.COMPILED);
    }
    assertThat(cache).isEmptyDirectory();
  }

  /** Every call comes from a thread that has no current context yet. */
  void worksOnAnyThread() {
    try (var device = elsewhere(this::open)) {
      var stream = elsewhere(device::openStream);
      var buffer = elsewhere(() -> device.allocate(64));
      var target = elsewhere(() -> device.allocate(64));
      var loaded = elsewhere(() -> load(device, kernel("wide", 1024, Type.U64)));
      var start = elsewhere(stream::record);
      for (Runnable call :
          List.<Runnable>of(
              () -> stream.fill(buffer, 0, 64, (byte) 1),
              () -> stream.upload(MemorySegment.ofArray(new byte[64]), buffer, 0),
              () -> stream.copy(buffer, 0, target, 0, 64),
              () ->
                  stream.launch(
                      new Launch(
                          loaded, Dim3.of(1), Dim3.of(1), 100_000, List.of(Argument.of(buffer)))),
              () -> stream.download(target, 0, MemorySegment.ofArray(new byte[64])),
              () -> stream.await(start),
              start::synchronize,
              () -> start.microsSince(start),
              device::memory,
              buffer::close,
              () -> device.allocate(64).close(),
              stream::synchronize,
              start::close,
              () -> load(device, kernel("plain", 0)),
              stream::close)) {
        elsewhere(() -> {
          call.run();
          return call;
        });
      }
    }
  }

  private static <T> T elsewhere(Callable<T> call) {
    try (var threads = Executors.newThreadPerTaskExecutor(Thread.ofPlatform().factory())) {
      return threads.submit(call).get();
    } catch (InterruptedException | ExecutionException e) {
      throw new AssertionError(e);
    }
  }

  void worksOnManyVirtualThreads() {
    try (var device = open();
        var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      var results =
          IntStream.range(0, 64)
              .mapToObj(i ->
                  threads.submit(() -> {
                    try (var stream = device.openStream()) {
                      for (int round = 0; round < 20; round++) {
                        var data = new byte[1000];
                        try (var buffer = device.allocate(1000)) {
                          stream.launch(
                              new Launch(
                                  load(device, SET_BYTES),
                                  Dim3.of(1),
                                  Dim3.of(1),
                                  0,
                                  List.of(
                                      Argument.of(buffer),
                                      Argument.of(1000L),
                                      Argument.of(i),
                                      Argument.of(0f),
                                      new Argument.Scalar(Type.U16, 0),
                                      Argument.of(0.0))));
                          stream.download(buffer, 0, MemorySegment.ofArray(data));
                        }
                        for (byte b : data) {
                          assertThat(b).isEqualTo((byte) i);
                        }
                      }
                      return i;
                    }
                  }))
              .toList();
      for (int i = 0; i < results.size(); i++) {
        assertThat(results.get(i)).succeedsWithin(Duration.ofMinutes(1)).isEqualTo(i);
      }
      assertThat(device.memory().used()).isZero();
    }
  }

  void isLost() {
    var sentence =
        "cuda:0 is lost: cuStreamSynchronize answered CUDA_ERROR_ILLEGAL_ADDRESS (an illegal"
            + " memory access was encountered); kernels launched on this stream since it was last"
            + " waited for: plain, trap";
    try (var device = open();
        var stream = device.openStream();
        var buffer = device.allocate(8)) {
      var plain =
          new Launch(load(device, kernel("plain", 0)), Dim3.of(1), Dim3.of(1), 0, List.of());
      var trap = new Launch(load(device, kernel("trap", 0)), Dim3.of(1), Dim3.of(1), 0, List.of());
      var event = stream.record();
      stream.launch(plain);
      stream.synchronize();
      stream.launch(plain);
      stream.launch(trap);
      for (Runnable call :
          List.<Runnable>of(
              stream::synchronize,
              () -> stream.fill(buffer, 0, 1, (byte) 0),
              () -> stream.launch(plain),
              () -> device.allocate(1),
              device::openStream,
              device::memory,
              event::synchronize,
              () -> load(device, SET_BYTES))) {
        assertThatExceptionOfType(DeviceException.Lost.class)
            .isThrownBy(call::run)
            .withMessage(sentence);
      }
      event.close();
    } // closing what is lost throws nothing
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
      assertThatIllegalArgumentException()
          .isThrownBy(() ->
              blas.gemm(
                  stream, Type.F64, Type.F64, false, false, 1, 1, 1, 1, deviceA, deviceB, deviceC))
          .withMessage("cuBLAS is asked for f32, f16 and bf16 here, got f64");
      assertThatIllegalArgumentException()
          .isThrownBy(() ->
              blas.gemm(
                  stream, Type.F32, Type.F32, false, false, m, n, 5, 1, deviceA, deviceB, deviceC))
          .withMessage("got 60 bytes from byte 0 on, the buffer has 48");
    }
  }

  void closes() {
    var device = open();
    var stream = device.openStream();
    var kept = device.allocate(100);
    device.allocate(5000).close();
    stream.fill(kept, 0, 100, (byte) 1);
    stream.download(kept, 0, MemorySegment.ofArray(new byte[100]));
    load(device, SET_BYTES);
    device.close();
    device.close();
    kept.close();
    stream.close();
    assertThat(FakeDriver.calls("cuMemFree_v2")).isEqualTo(FakeDriver.calls("cuMemAlloc_v2"));
    assertThat(FakeDriver.calls("cuStreamDestroy_v2")).isEqualTo(1);
    assertThat(FakeDriver.calls("cuModuleUnload")).isEqualTo(1);
    assertThat(FakeDriver.calls("cuMemFreeHost")).isEqualTo(FakeDriver.calls("cuMemHostAlloc"));
    assertThatIllegalStateException()
        .isThrownBy(() -> device.allocate(1))
        .withMessage("cuda:0 is closed");
  }
}
