package dev.athanor.engine.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.cuda.module.CubinCache;
import dev.athanor.engine.cuda.module.CudaKernel;
import dev.athanor.engine.cuda.module.Modules;
import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.device.LoadedKernel.Origin;
import dev.athanor.engine.device.TensorMap;
import dev.athanor.engine.device.TensorMap.Element;
import dev.athanor.engine.device.TensorMap.Fill;
import dev.athanor.engine.device.TensorMap.Promotion;
import dev.athanor.engine.device.TensorMap.SwizzleMode;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.Version;
import dev.athanor.engine.ptx.text.Parser;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.text.MessageFormat;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.stream.IntStream;

/** Checks loading and launching of kernels, and failures of both. */
@SuppressWarnings("try") // some checks close early or twice
final class KernelChecks extends DriverChecks {

  KernelChecks(Path cache) {
    super(cache);
  }

  void usesStreamsOfTheDriverAgain() {
    try (var device = open()) {
      device.openStream().close();
      try (var first = device.openStream();
          var second = device.openStream()) {
        first.synchronize();
        second.synchronize();
      }
      device.openStream().close();
      assertThat(FakeDriver.calls("cuStreamCreate")).isEqualTo(2);
      assertThat(FakeDriver.calls("cuStreamDestroy_v2")).isZero();
    }
    assertThat(FakeDriver.calls("cuStreamDestroy_v2")).isEqualTo(2);
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
                  new Argument.Scalar(Type.F16, 0xFFFF_3C00L), // only its low 16 bits are passed
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

  void launchesClusters() {
    try (var device = open();
        var stream = device.openStream()) {
      var loaded = load(device, kernel("plain", 0, Type.U32));
      var one = List.<Argument>of(Argument.of(7));
      stream.launch(new Launch(loaded, new Dim3(8, 4, 2), Dim3.of(64), Dim3.of(1), 0, one));
      assertThat(FakeDriver.calls("cuLaunchKernelEx")).isZero();
      stream.launch(new Launch(loaded, new Dim3(8, 4, 2), Dim3.of(64), new Dim3(2, 4, 1), 0, one));
      assertThat(FakeDriver.calls("cuLaunchKernelEx")).isEqualTo(1);
      var seen = FakeDriver.lastLaunch();
      assertThat(seen.cluster()).containsExactly(2, 4, 1);
      assertThat(seen.grid()).containsExactly(8, 4, 2);
      assertThat(seen.block()).containsExactly(64, 1, 1);
      assertThat(seen.values()).containsExactly(7L);
    }
  }

  void launchesDependently() {
    try (var device = open();
        var stream = device.openStream()) {
      var loaded = load(device, kernel("plain", 0, Type.U32));
      var plain =
          new Launch(loaded, Dim3.of(8), Dim3.of(64), 128, List.<Argument>of(Argument.of(7)));
      stream.launch(plain);
      assertThat(FakeDriver.lastLaunch().dependent()).isFalse();
      stream.launch(plain.asDependent());
      var seen = FakeDriver.lastLaunch();
      assertThat(seen.dependent()).isTrue();
      assertThat(seen.cooperative()).isFalse();
      assertThat(seen.cluster()).containsExactly(0, 0, 0);
      assertThat(seen.grid()).containsExactly(8, 1, 1);
      assertThat(seen.block()).containsExactly(64, 1, 1);
      assertThat(seen.shared()).isEqualTo(128);
      assertThat(seen.values()).containsExactly(7L);
      var clusters = new Launch(loaded, Dim3.of(8), Dim3.of(64), Dim3.of(4), 0, plain.arguments());
      stream.launch(clusters.asDependent().asCooperative());
      assertThat(FakeDriver.lastLaunch().dependent()).isTrue();
      assertThat(FakeDriver.lastLaunch().cooperative()).isTrue();
      assertThat(FakeDriver.lastLaunch().cluster()).containsExactly(4, 1, 1);
      try (var graph = device.capture(captured -> captured.launch(plain.asDependent()))) {
        stream.launch(plain);
        graph.launch(stream);
        assertThat(FakeDriver.lastLaunch().dependent()).as("captured").isTrue();
      }
    }
  }

  /** Evicted modules are unloaded unless a kernel or graph still refers to them. */
  void unloadsUnreachableModules() {
    var one = List.<Argument>of(Argument.of(7));
    try (var device = open();
        var stream = device.openStream()) {
      var kept = load(device, kernel("kept", 0, Type.U32));
      var captured =
          device.capture(work ->
              work.launch(
                  new Launch(
                      load(device, kernel("captured", 0, Type.U32)),
                      Dim3.of(1),
                      Dim3.of(32),
                      0,
                      one)));
      int loaded = 2;
      // only the garbage collector finds out whether a module is unreachable
      for (int round = 0; FakeDriver.calls("cuModuleUnload") < Modules.MODULES; round++) {
        assertThat(round).as("rounds until the collector has found all modules").isLessThan(10);
        for (int i = 0; i < Modules.MODULES + 10; i++) {
          load(device, kernel("k" + loaded++, 0, Type.U32));
        }
        System.gc();
      }
      assertThat(loaded - FakeDriver.calls("cuModuleUnload"))
          .as("modules that are loaded")
          .isGreaterThanOrEqualTo(Modules.MODULES + 2);
      stream.launch(new Launch(kept, Dim3.of(1), Dim3.of(32), 0, one));
      assertThat(FakeDriver.lastLaunch().name()).isEqualTo("kept");
      captured.launch(stream);
      assertThat(FakeDriver.lastLaunch().name()).isEqualTo("captured");
      assertThat(load(device, kernel("k2", 0, Type.U32)).origin())
          .as("evicted, but in the cache on disk")
          .isEqualTo(Origin.DISK);
      captured.close();
    }
    assertThat(FakeDriver.calls("cuModuleUnload"))
        .as("each module exactly once")
        .isEqualTo(FakeDriver.calls("cuModuleLoadDataEx"));
  }

  void launchesCooperatively() {
    try (var device = open();
        var stream = device.openStream()) {
      var loaded = load(device, kernel("plain", 0, Type.U32));
      var one = List.<Argument>of(Argument.of(7));
      var most = new Launch(loaded, Dim3.of(132 * 8), Dim3.of(256), Dim3.of(1), 0, one);
      stream.launch(most);
      assertThat(FakeDriver.lastLaunch().cooperative()).isFalse();
      stream.launch(most.asCooperative());
      assertThat(FakeDriver.lastLaunch().cooperative()).isTrue();
      assertThat(FakeDriver.lastLaunch().grid()).containsExactly(132 * 8, 1, 1);
      assertThat(FakeDriver.lastLaunch().values()).containsExactly(7L);
      var wide = load(device, kernel("wide", 1024, Type.U32));
      stream.launch(
          new Launch(wide, new Dim3(5, 6, 7), new Dim3(8, 4, 2), Dim3.of(1), 256, one)
              .asCooperative());
      assertThat(FakeDriver.lastLaunch().cooperative()).isTrue();
      assertThat(FakeDriver.lastLaunch().grid()).containsExactly(5, 6, 7);
      assertThat(FakeDriver.lastLaunch().block()).containsExactly(8, 4, 2);
      assertThat(FakeDriver.lastLaunch().shared()).isEqualTo(256);
      var clusters = new Launch(loaded, Dim3.of(8), Dim3.of(256), Dim3.of(4), 0, one);
      stream.launch(clusters.asCooperative());
      assertThat(FakeDriver.lastLaunch().cooperative()).isTrue();
      assertThat(FakeDriver.lastLaunch().cluster()).containsExactly(4, 1, 1);
      var more = new Launch(loaded, Dim3.of(132 * 8 + 1), Dim3.of(256), Dim3.of(1), 0, one);
      assertThatThrownBy(() -> stream.launch(more.asCooperative()))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("a cooperative grid of 1057 blocks of 256x1x1 threads; ")
          .hasMessageContaining("only 1056 fit on ");
    }
  }

  void encodesTensorMaps() {
    var kernel =
        new Kernel(
            "mapped",
            List.of(
                new Kernel.Parameter("n", Type.U32),
                new Kernel.Parameter("map", Type.B8, 64, TensorMap.BYTES, false),
                new Kernel.Parameter("m", Type.U32)),
            List.of(),
            0,
            0,
            List.of());
    var map =
        new TensorMap(
            Element.BF16,
            List.of(64L, 10L, 3L),
            List.of(128L, 1280L),
            List.of(32, 4, 1),
            List.of(1, 2, 1),
            SwizzleMode.BYTES_64,
            Fill.NAN,
            Promotion.BYTES_128);
    try (var device = open();
        var stream = device.openStream();
        var buffer = device.allocate(4096)) {
      var loaded = load(device, kernel);
      var arguments = List.of(Argument.of(3), new Argument.Tensor(map, buffer, 32), Argument.of(5));
      stream.launch(new Launch(loaded, Dim3.of(1), Dim3.of(32), 0, arguments));
      var encoded = FakeDriver.lastMap();
      assertThat(encoded.wide())
          .containsExactly(buffer.address() + 32, 64L, 10L, 3L, 0L, 0L, 128L, 1280L, 0L, 0L);
      assertThat(encoded.narrow()).containsExactly(9, 3, 32, 4, 1, 0, 0, 1, 2, 1, 0, 0, 0, 2, 2, 1);
      assertThat(FakeDriver.lastLaunch().values()).containsExactly(3L, 0x5A5A_5A5A_5A5A_5A5AL, 5L);
      stream.launch(new Launch(loaded, Dim3.of(1), Dim3.of(32), 0, arguments));
      assertThat(FakeDriver.calls("cuTensorMapEncodeTiled")).as("cached").isEqualTo(1);
      assertThat(FakeDriver.lastLaunch().values()).containsExactly(3L, 0x5A5A_5A5A_5A5A_5A5AL, 5L);
      var elsewhere = List.of(Argument.of(3), new Argument.Tensor(map, buffer, 48), Argument.of(5));
      FakeDriver.fail("cuTensorMapEncodeTiled", 1);
      assertThatIllegalArgumentException()
          .isThrownBy(
              () -> stream.launch(new Launch(loaded, Dim3.of(1), Dim3.of(32), 0, elsewhere)))
          .withMessageStartingWith("the driver rejected the tensor map with ");
      stream.launch(new Launch(loaded, Dim3.of(1), Dim3.of(32), 0, elsewhere));
      assertThat(FakeDriver.calls("cuTensorMapEncodeTiled")).as("another address").isEqualTo(3);
      assertThat(FakeDriver.lastMap().wide()).startsWith(buffer.address() + 48);
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

  void rejectsInvalidLaunches() {
    var plain = kernel("plain", 0);
    try (var device = open();
        var stream = device.openStream();
        var closed = device.allocate(8)) {
      var loaded = load(device, plain);
      assertThatIllegalArgumentException()
          .isThrownBy(
              () -> stream.launch(new Launch(loaded, Dim3.of(1), Dim3.of(512), 0, List.of())))
          .withMessageContaining("the limit of the kernel is 256");
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
          .withMessageStartingWith("kernel plain failed: the driver rejected the launch with ");
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
      assertThatExceptionOfType(DeviceException.LoadFailed.class)
          .isThrownBy(() -> device.load(module, "fancy"))
          .withMessage("kernel fancy could not be loaded: its module has only set_bytes, plain");
    }
  }

  void warnsOfSpillsOnce() {
    var warnings = new ArrayList<String>();
    var log = Logger.getLogger(Modules.class.getName());
    log.setUseParentHandlers(false);
    log.addHandler(
        new Handler() {
          @Override
          public void publish(LogRecord entry) {
            warnings.add(
                entry.getLevel()
                    + " "
                    + MessageFormat.format(entry.getMessage(), entry.getParameters()));
          }

          @Override
          public void flush() {}

          @Override
          public void close() {}
        });
    try (var device = open()) {
      assertThat(load(device, kernel("plain", 0)).spilledBytes()).isZero();
      assertThat(warnings).isEmpty();
      var spills = kernel("spills", 0);
      assertThat(load(device, spills).spilledBytes()).isEqualTo(32);
      assertThat(((CudaKernel) load(device, spills)).localBytes()).isEqualTo(32);
      assertThat(warnings)
          .containsExactly(
              "WARNING kernel spills spills registers: it uses 32 bytes of local memory per thread"
                  + " beyond what it declares; its results are correct, but it is slower than"
                  + " planned on Fake H100 (sm_90a)");
      assertThat(load(device, withLocal("spills_less", 9)).spilledBytes()).isEqualTo(16);
      assertThat(load(device, withLocal("spills_not", 20)).spilledBytes()).isZero();
      assertThat(warnings).hasSize(2);
    }
  }

  /** A kernel that declares local memory. */
  private static Kernel withLocal(String name, int bytes) {
    return Parser.parse(
            ".version 7.4\n.target sm_80\n.address_size 64\n.entry %s()\n{\n.local .align 4 .b8 x[%d];\nret;\n}\n"
                .formatted(name, bytes),
            name)
        .kernel(name)
        .orElseThrow();
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
    try (var device = open()) { // intact, but not code that the driver accepts
      assertThat(device.load(module, "set_bytes").origin()).isEqualTo(Origin.COMPILED);
    }
    var unusable = Files.createFile(cache.resolve("file"));
    try (var device = CudaDevice.open(0, unusable)) {
      assertThat(device.load(module, "set_bytes").origin()).isEqualTo(Origin.COMPILED);
    }
  }

  void reportsWhyLoadingFailed() {
    try (var device = open()) {
      assertThatExceptionOfType(DeviceException.LoadFailed.class)
          .isThrownBy(() -> load(device, kernel("broken", 0)))
          .withMessage(
              "kernel broken could not be loaded: CUDA_ERROR_INVALID_PTX (a PTX JIT compilation"
                  + " failed)\nptxas application ptx input, line 7; error   : Unknown symbol 'x'");
      var blackwell = new Module(new Version(8, 6), Target.of("sm_100"), List.of(SET_BYTES));
      assertThatExceptionOfType(DeviceException.LoadFailed.class)
          .isThrownBy(() -> device.load(blackwell, "set_bytes"))
          .withMessageEndingWith("its target is sm_100, but Fake H100 is sm_90a");
      assertThat(load(device, SET_BYTES).origin()).isEqualTo(Origin.COMPILED);
    }
  }

  void recompilesSlowCodeWithTheLoader() {
    try (var device = open()) {
      var slow = (CudaKernel) load(device, kernel("slow", 0));
      assertThat(slow.origin()).isEqualTo(Origin.COMPILED);
      assertThat(slow.log()).isEqualTo("ptxas info    : Used 8 registers");
    }
    assertThat(cache).isEmptyDirectory();
  }

  void loadsCodeThatTheLinkerRejects() {
    try (var device = open()) {
      FakeDriver.fail("cuLinkAddData_v2", 218);
      assertThat(load(device, SET_BYTES).origin()).isEqualTo(Origin.COMPILED);
    }
    assertThat(cache).isEmptyDirectory();
  }

  /** Every call comes from a thread that has no current context yet. */
  void worksOnAnyThread() {
    try (var device = onNewThread(this::open)) {
      var stream = onNewThread(device::openStream);
      var buffer = onNewThread(() -> device.allocate(64));
      var target = onNewThread(() -> device.allocate(64));
      var loaded = onNewThread(() -> load(device, kernel("wide", 1024, Type.U64)));
      var start = onNewThread(stream::record);
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
        onNewThread(() -> {
          call.run();
          return call;
        });
      }
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
        assertThat(results.get(i)).succeedsWithin(Duration.ofHours(1)).isEqualTo(i);
      }
      assertThat(device.memory().used()).isZero();
    }
  }

  void reportsALostDevice() {
    var message =
        "cuda:0 is lost: cuStreamSynchronize failed with CUDA_ERROR_ILLEGAL_ADDRESS (an illegal"
            + " memory access was encountered); kernels launched on this stream since it was last"
            + " synchronized: plain, trap";
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
            .withMessage(message);
      }
      event.close();
    } // closing lost objects throws nothing
    assertThatExceptionOfType(DeviceException.Unavailable.class)
        .isThrownBy(this::open)
        .withMessage(
            "cannot open cuda:0: CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was"
                + " encountered); a kernel failed earlier in this process, so start a new one");
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

  private Path onlyFile() throws IOException {
    try (var files = Files.list(cache)) {
      return files
          .reduce((a, b) -> {
            throw new AssertionError(a + " and " + b);
          })
          .orElseThrow();
    }
  }

  private static <T> T onNewThread(Callable<T> call) {
    try (var threads = Executors.newThreadPerTaskExecutor(Thread.ofPlatform().factory())) {
      return threads.submit(call).get();
    } catch (InterruptedException | ExecutionException e) {
      throw new AssertionError(e);
    }
  }
}
