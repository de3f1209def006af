package dev.athanor.engine.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.ptx.Type;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;

/** Checks capture, launch and destruction of graphs. */
@SuppressWarnings("try") // some checks close early or twice
final class GraphChecks extends DriverChecks {

  GraphChecks(Path cache) {
    super(cache);
  }

  private static Launch setBytes(CudaDevice device, Buffer buffer, int value) {
    return new Launch(
        load(device, SET_BYTES),
        Dim3.of(1),
        Dim3.of(1),
        0,
        List.of(
            Argument.of(buffer),
            Argument.of(buffer.bytes()),
            Argument.of(value),
            Argument.of(0f),
            new Argument.Scalar(Type.U16, 0),
            Argument.of(0.0)));
  }

  private static Launch plain(CudaDevice device, String name) {
    return new Launch(load(device, kernel(name, 0)), Dim3.of(1), Dim3.of(1), 0, List.of());
  }

  private static byte[] bytesOf(CudaDevice device, Buffer buffer) {
    var bytes = new byte[Math.toIntExact(buffer.bytes())];
    try (var stream = device.openStream()) {
      stream.download(buffer, 0, MemorySegment.ofArray(bytes));
    }
    return bytes;
  }

  void launchesCapturedWork() {
    try (var device = open();
        var stream = device.openStream();
        var a = device.allocate(4);
        var b = device.allocate(4)) {
      stream.fill(a, 0, 4, (byte) 0);
      stream.fill(b, 0, 4, (byte) 0);
      var graph =
          device.capture(captured -> {
            captured.launch(setBytes(device, a, 5));
            captured.copy(a, 0, b, 1, 2);
            captured.fill(a, 3, 1, (byte) 9);
          });
      assertThat(bytesOf(device, a)).containsExactly(0, 0, 0, 0);
      for (int i = 1; i <= 3; i++) {
        graph.launch(stream);
        assertThat(FakeDriver.calls("cuGraphLaunch")).isEqualTo(i);
      }
      assertThat(FakeDriver.calls("cuLaunchKernel")).isEqualTo(1);
      assertThat(bytesOf(device, a)).containsExactly(5, 5, 5, 9);
      assertThat(bytesOf(device, b)).containsExactly(0, 5, 5, 0);
      a.close();
      assertThatIllegalStateException()
          .isThrownBy(() -> graph.launch(stream))
          .withMessage("the buffer of 4 bytes is closed");
      assertThat(FakeDriver.calls("cuGraphLaunch")).isEqualTo(3);
    }
    assertNothingLeaked();
  }

  /** The fake driver enforces the restrictions of capture modes other than relaxed. */
  void permitsOtherWorkDuringACapture() {
    try (var device = open();
        var stream = device.openStream();
        var target = device.allocate(4)) {
      var graph =
          device.capture(captured -> {
            stream.fill(target, 0, 4, (byte) 1);
            FakeDriver.hold();
            long address;
            try (var closed = device.allocate(4096)) { // parked behind a fence of every stream
              address = closed.address();
            }
            captured.launch(setBytes(device, target, 5));
            try (var waiting = device.allocate(4096)) { // queries the fences
              assertThat(waiting.address()).isNotEqualTo(address);
              stream.synchronize();
            }
            device.allocateHost(100).close();
          });
      assertThat(bytesOf(device, target)).containsExactly(1, 1, 1, 1);
      graph.launch(stream);
      assertThat(bytesOf(device, target)).containsExactly(5, 5, 5, 5);
    }
    assertNothingLeaked();
  }

  void releasesEverythingWhenACaptureFails() {
    try (var device = open();
        var stream = device.openStream();
        var target = device.allocate(4)) {
      var plain = plain(device, "plain");
      assertThatIllegalArgumentException()
          .isThrownBy(() ->
              device.capture(captured -> {
                captured.launch(plain);
                captured.fill(target, 0, 5, (byte) 0);
              }))
          .withMessage("got 5 bytes from byte 0 on, the buffer has 4");
      assertThat(FakeDriver.calls("cuGraphInstantiateWithFlags")).isZero();

      var message =
          "kernel graph(plain) failed: the driver rejected the launch with"
              + " CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (too many resources requested for launch)";
      FakeDriver.fail("cuGraphInstantiateWithFlags", 701);
      assertThatExceptionOfType(DeviceException.KernelFault.class)
          .isThrownBy(() -> device.capture(captured -> captured.launch(plain)))
          .withMessage(message);
      FakeDriver.fail("cuLaunchKernel", 701);
      assertThatExceptionOfType(DeviceException.KernelFault.class)
          .isThrownBy(() -> device.capture(captured -> captured.launch(plain)))
          .withMessage(message.replace("graph(plain)", "plain"));
      try (var graph = device.capture(captured -> captured.launch(plain))) {
        FakeDriver.fail("cuGraphLaunch", 701);
        assertThatExceptionOfType(DeviceException.KernelFault.class)
            .isThrownBy(() -> graph.launch(stream))
            .withMessage(message);
        graph.launch(stream);
        stream.synchronize();
      }
    }
    assertNothingLeaked();
    reportsAnInvalidatedCapture();
  }

  private void reportsAnInvalidatedCapture() {
    int destroyed = FakeDriver.calls("cuGraphDestroy");
    try (var device = open();
        var target = device.allocate(4)) {
      FakeDriver.fail("cuStreamEndCapture", 901);
      assertThatIllegalStateException()
          .isThrownBy(() -> device.capture(captured -> captured.fill(target, 0, 4, (byte) 1)))
          .withMessage(
              "cuda:0: cuStreamEndCapture failed with CUDA_ERROR_STREAM_CAPTURE_INVALIDATED");
      assertThat(FakeDriver.calls("cuGraphDestroy")).isEqualTo(destroyed);
      device.capture(captured -> captured.fill(target, 0, 4, (byte) 1)).close();
    }
    assertThat(FakeDriver.calls("cuStreamDestroy_v2"))
        .isEqualTo(FakeDriver.calls("cuStreamCreate"));
  }

  void isDestroyedAfterItsLaunches() {
    try (var device = open();
        var stream = device.openStream()) {
      var first = device.capture(captured -> captured.launch(plain(device, "plain")));
      var second = device.capture(_ -> {});
      first.launch(stream);
      FakeDriver.hold();
      first.close();
      first.close();
      assertThat(FakeDriver.calls("cuGraphExecDestroy")).isZero();
      stream.synchronize();
      second.close();
      assertThat(FakeDriver.calls("cuGraphExecDestroy")).isEqualTo(2);
      device.capture(_ -> {}); // closed by the device
    }
    assertThat(FakeDriver.calls("cuGraphExecDestroy")).isEqualTo(3);
    assertNothingLeaked();
  }

  void reportsALostContext() {
    var message =
        "cuda:0 is lost: cuStreamSynchronize failed with CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory"
            + " access was encountered); kernels launched on this stream since it was last"
            + " synchronized: plain, graph(trap, plain)";
    try (var device = open();
        var stream = device.openStream()) {
      var plain = plain(device, "plain");
      var trap = plain(device, "trap");
      try (var graph =
          device.capture(captured -> {
            captured.launch(trap);
            captured.launch(plain);
            captured.launch(trap);
          })) {
        stream.launch(plain);
        graph.launch(stream);
        for (Runnable call :
            List.<Runnable>of(
                stream::synchronize,
                () -> graph.launch(stream),
                () -> device.capture(_ -> {}),
                () -> device.allocateHost(1))) {
          assertThatExceptionOfType(DeviceException.Lost.class)
              .isThrownBy(call::run)
              .withMessage(message);
        }
      }
    } // closing lost objects throws nothing
  }

  void reportsAContextLostDuringACapture() {
    try (var device = open();
        var stream = device.openStream()) {
      var trap = plain(device, "trap");
      assertThatExceptionOfType(DeviceException.Lost.class)
          .isThrownBy(() ->
              device.capture(captured -> {
                captured.launch(trap); // captured, not executed
                stream.launch(trap);
                stream.synchronize();
              }))
          .withMessageContaining(
              "kernels launched on this stream since it was last synchronized: trap");
    }
  }

  private static void assertNothingLeaked() {
    assertThat(FakeDriver.calls("cuStreamEndCapture"))
        .isEqualTo(FakeDriver.calls("cuStreamBeginCapture_v2"));
    assertThat(FakeDriver.calls("cuGraphDestroy"))
        .isEqualTo(FakeDriver.calls("cuStreamBeginCapture_v2"));
    assertThat(FakeDriver.calls("cuStreamDestroy_v2"))
        .isEqualTo(FakeDriver.calls("cuStreamCreate"));
  }
}
