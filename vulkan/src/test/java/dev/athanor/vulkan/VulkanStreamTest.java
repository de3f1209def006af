package dev.athanor.vulkan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.device.Stream;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Printer;
import dev.athanor.engine.ptx.text.Parser;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** What depends on batches, the staging ring and the pool. Memory is not accessed directly. */
class VulkanStreamTest {

  private static final Module INCREMENT =
      Parser.parse(
          """
          .version 7.4
          .target sm_70
          .address_size 64
          .visible .entry increment(.param .u64 at, .param .u32 step)
          {
            .reg .b32 %r<4>;
            .reg .b64 %rd<1>;
            ld.param.u64 %rd0, [at];
            ld.param.u32 %r2, [step];
            ld.global.u32 %r0, [%rd0];
            add.u32 %r1, %r0, %r2;
            st.global.u32 [%rd0], %r1;
            ret;
          }
          """,
          "increment.ptx");

  private static final Module WAITING_INCREMENT =
      Parser.parse(
          Printer.print(INCREMENT)
              .replace("sm_70", "sm_90")
              .replace("version 7.4", "version 8.0")
              .replace("ld.param.u64", "griddepcontrol.wait;\n ld.param.u64"),
          "waiting.ptx");

  /** Writes the number of blocks to the word of each block. */
  private static final Module BLOCKS =
      Parser.parse(
          """
          .version 7.4
          .target sm_70
          .address_size 64
          .visible .entry blocks(.param .u64 at)
          {
            .reg .b32 %r<2>;
            .reg .b64 %rd<3>;
            ld.param.u64 %rd0, [at];
            mov.u32 %r0, %ctaid.x;
            mov.u32 %r1, %nctaid.x;
            mul.wide.u32 %rd1, %r0, 4;
            add.u64 %rd2, %rd0, %rd1;
            st.global.u32 [%rd2], %r1;
            ret;
          }
          """,
          "blocks.ptx");

  private final VulkanDevice device = TestDevice.open(false);
  private final Stream stream = device.openStream();

  @BeforeAll
  static void requireDevice() {
    TestDevice.require();
  }

  @AfterEach
  void close() {
    device.close();
  }

  private static byte[] download(Stream stream, Buffer buffer) {
    var bytes = new byte[(int) buffer.bytes()];
    stream.download(buffer, 0, MemorySegment.ofArray(bytes));
    stream.synchronize();
    return bytes;
  }

  private static Launch increment(Device device, Buffer at, int step) {
    return new Launch(
        device.load(INCREMENT, "increment"),
        Dim3.of(1),
        Dim3.of(1),
        0,
        List.of(Argument.of(at), Argument.of(step)));
  }

  @Test
  void copiesMoreThanTheRingHolds() {
    int bytes = (int) (3 * StagingRing.BYTES) + 17;
    var data = new byte[bytes];
    new Random(1).nextBytes(data);
    var buffer = device.allocate(bytes);
    stream.upload(MemorySegment.ofArray(data), buffer, 0);
    assertThat(Arrays.equals(download(stream, buffer), data)).isTrue();
  }

  @Test
  void fillsBytesAtAnyOffset() {
    var buffer = device.allocate(32);
    for (int offset = 0; offset < 8; offset++) {
      for (int length = 0; length < 12; length++) {
        stream.fill(buffer, 0, 32, (byte) 1);
        stream.fill(buffer, offset, length, (byte) 0xAB);
        var expected = new byte[32];
        Arrays.fill(expected, (byte) 1);
        Arrays.fill(expected, offset, offset + length, (byte) 0xAB);
        assertThat(download(stream, buffer))
            .as("%d bytes from byte %d on", length, offset)
            .isEqualTo(expected);
      }
    }
  }

  /** Launches run in order, so that the permission has no effect. */
  @Test
  void runsDependentLaunchesInOrder() {
    var buffer = device.allocate(4);
    stream.fill(buffer, 0, 4, (byte) 0);
    stream.launch(increment(device, buffer, 2));
    var waiting = device.load(WAITING_INCREMENT, "increment");
    stream.launch(
        new Launch(waiting, Dim3.of(1), Dim3.of(1), 0, List.of(Argument.of(buffer), Argument.of(3)))
            .asDependent());
    assertThat(download(stream, buffer)).containsExactly(5, 0, 0, 0);
  }

  @Test
  void launchesKeepTheirOrderAndArgumentsOverManyBatches() {
    var buffer = device.allocate(4);
    stream.fill(buffer, 0, 4, (byte) 0);
    int expected = 0;
    for (int i = 0; i < 1000; i++) {
      stream.launch(increment(device, buffer, i));
      expected += i;
    }
    assertThat(
            MemorySegment.ofArray(download(stream, buffer))
                .asByteBuffer()
                .order(ByteOrder.nativeOrder())
                .getInt(0))
        .isEqualTo(expected);
  }

  @Test
  void executesMoreBlocksThanADispatchAccepts() {
    int blocks = 2 * 65_535 + 1;
    var buffer = device.allocate(4L * blocks);
    stream.fill(buffer, 0, buffer.bytes(), (byte) 0);
    stream.launch(
        new Launch(
            device.load(BLOCKS, "blocks"),
            Dim3.of(blocks),
            Dim3.of(1),
            0,
            List.of(Argument.of(buffer))));
    var expected = new int[blocks];
    Arrays.fill(expected, blocks);
    assertThat(
            MemorySegment.ofArray(download(stream, buffer)).toArray(ValueLayout.JAVA_INT_UNALIGNED))
        .isEqualTo(expected);
  }

  @Test
  void memoryOfAClosedBufferIsNotReusedBeforeItsWork() {
    var result = device.allocate(1 << 20);
    for (int i = 0; i < 20; i++) {
      var buffer = device.allocate(1 << 20);
      stream.fill(buffer, 0, 1 << 20, (byte) i);
      stream.copy(buffer, 0, result, 0, 1 << 20);
      buffer.close();
      try (var other = device.openStream();
          var next = device.allocate(1 << 20)) {
        other.fill(next, 0, 1 << 20, (byte) 99);
      }
      assertThat(download(stream, result)).containsOnly(i);
    }
    result.close();
    assertThat(device.memory().used()).isZero();
  }

  @Test
  void freesMemoryThatNoBufferUsesWhenTheDriverHasNoneLeft() {
    long free = device.memory().free();
    assertThat(device.memory().pooled()).isZero();
    device.allocate(1).close();
    assertThat(device.memory().pooled()).isPositive();
    assertThatThrownBy(() -> device.allocate(free + 1))
        .isInstanceOf(DeviceException.OutOfMemory.class);
    assertThat(device.memory().free() + device.memory().pooled()).isEqualTo(free);
  }

  @Test
  void worksBesideTheEmulator() {
    try (var emulator = new EmulatedDevice()) {
      var other = emulator.openStream();
      var ours = device.allocate(4);
      var theirs = emulator.allocate(4);
      for (int i = 0; i < 3; i++) {
        if (i == 0) {
          stream.fill(ours, 0, 4, (byte) 2);
          other.fill(theirs, 0, 4, (byte) 2);
        }
        stream.launch(increment(device, ours, 7));
        other.launch(increment(emulator, theirs, 7));
      }
      assertThat(download(stream, ours)).isEqualTo(download(other, theirs));
      assertThatIllegalArgumentException()
          .isThrownBy(() -> stream.fill(theirs, 0, 4, (byte) 0))
          .withMessage("the buffer does not belong to vulkan:0");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> stream.launch(increment(emulator, ours, 1)))
          .withMessage("kernel increment was not loaded on vulkan:0");
      try (var event = other.record()) {
        assertThatIllegalArgumentException()
            .isThrownBy(() -> stream.await(event))
            .withMessage("the event does not belong to vulkan:0");
      }
    }
  }

  @Test
  void rejectsLaunchesThatVulkanLacks() {
    var buffer = device.allocate(4);
    var launch = increment(device, buffer, 1);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> stream.launch(launch.asCooperative()))
        .withMessage(
            "cannot launch increment: got a cooperative launch, which Vulkan does not support");
    var clusters =
        new Launch(launch.kernel(), Dim3.of(2), Dim3.of(1), Dim3.of(2), 0, launch.arguments());
    assertThatIllegalArgumentException()
        .isThrownBy(() -> stream.launch(clusters))
        .withMessage(
            "cannot launch increment: got clusters of blocks, which Vulkan does not support");
  }

  @Test
  void rejectsModulesThatItCannotTranslate() {
    var variable =
        Parser.parse(
            INCREMENT.toString().replace(".visible", ".global .u32 count;\n.visible"), "v.ptx");
    assertThatThrownBy(() -> device.load(variable, "increment"))
        .isInstanceOf(DeviceException.LoadFailed.class)
        .hasMessage(
            "kernel increment could not be loaded: variables of a module are not supported on"
                + " Vulkan devices, except constant numbers");
  }

  @Test
  void closesWithWorkPending() {
    var other = TestDevice.open(false);
    var own = other.openStream();
    var buffer = other.allocate(1 << 20);
    own.fill(buffer, 0, 1 << 20, (byte) 1);
    var event = own.record();
    var graph = other.capture(captured -> captured.fill(buffer, 0, 4, (byte) 0));
    graph.launch(own);
    other.close();
    other.close();
    event.close();
    graph.close();
    buffer.close();
    own.close();
    assertThatIllegalStateException()
        .isThrownBy(() -> other.allocate(1))
        .withMessage("vulkan:0 is closed");
  }
}
