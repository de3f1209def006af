package dev.athanor.vulkan;

import static org.lwjgl.vulkan.VK13.*;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.vulkan.spirv.Shader;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.function.IntFunction;
import org.lwjgl.system.MemoryStack;
import org.lwjgl.vulkan.VkCommandBuffer;

/** Checks the operations that streams and graphs share, and makes commands of them. */
final class Commands {

  /** Number of bytes that the ends of a fill can have: fills of the driver take whole words. */
  private static final int WORD = Integer.BYTES;

  private static final int BYTE_VALUES = 256;

  private final LogicalDevice device;
  private final Capability capability;

  /** A word of each byte value. */
  private final MemoryRegion patterns;

  /** Memory for the arguments of a kernel, until the kernel has run. */
  record Slot(MemorySegment segment, long address) {}

  Commands(LogicalDevice device, Capability capability) {
    this.device = device;
    this.capability = capability;
    patterns = MemoryRegion.require(device, (long) WORD * BYTE_VALUES);
    for (int value = 0; value < BYTE_VALUES; value++) {
      patterns.requireSegment().setAtIndex(ValueLayout.JAVA_INT, value, value * 0x01010101);
    }
  }

  LogicalDevice device() {
    return device;
  }

  Command copy(Buffer source, long sourceOffset, Buffer target, long targetOffset, long bytes) {
    var from = VulkanBuffer.of(device, source, sourceOffset, bytes);
    var to = VulkanBuffer.of(device, target, targetOffset, bytes);
    if (from == to && sourceOffset < targetOffset + bytes && targetOffset < sourceOffset + bytes) {
      throw new IllegalArgumentException(
          "got %d bytes to copy from byte %d to byte %d of one buffer, which overlap"
              .formatted(bytes, sourceOffset, targetOffset));
    }
    return Command.copy(from.range(sourceOffset, bytes), to.range(targetOffset, bytes));
  }

  Command fill(Buffer target, long offset, long bytes, byte value) {
    var own = VulkanBuffer.of(device, target, offset, bytes);
    if (bytes == 0) {
      return Command.NOTHING;
    }
    // Buffers start at whole words.
    int head = (int) Math.min(bytes, -offset & (WORD - 1));
    int tail = (int) (bytes - head) % WORD;
    long words = bytes - head - tail;
    int pattern = Byte.toUnsignedInt(value);
    return commands -> {
      if (words > 0) {
        var whole = own.range(offset + head, words);
        vkCmdFillBuffer(
            commands, whole.buffer(), whole.offset(), whole.bytes(), pattern * 0x01010101);
      }
      if (head > 0) {
        Command.copyUnordered(
            commands, patterns.range((long) WORD * pattern, head), own.range(offset, head));
      }
      if (tail > 0) {
        Command.copyUnordered(
            commands,
            patterns.range((long) WORD * pattern, tail),
            own.range(offset + bytes - tail, tail));
      }
      Command.order(commands);
    };
  }

  /**
   * Checks a launch and writes its arguments.
   *
   * @param memory returns a slot of a number of bytes
   */
  Command launch(Launch launch, IntFunction<Slot> memory) {
    var kernel = VulkanKernel.of(device, launch.kernel());
    launch.check(capability);
    check(launch);
    for (var argument : launch.arguments()) {
      if (argument instanceof Argument.Pointer pointer) {
        address(pointer);
      }
    }
    long pipeline = kernel.pipeline(launch.block(), launch.dynamicSharedBytes());
    var slot = memory.apply(Math.max(1, kernel.kernel().parameterBytes()));
    write(launch, slot.segment());
    device.launched(kernel.kernel().name());
    return commands -> {
      vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
      dispatch(commands, slot.address(), launch.grid());
      Command.order(commands);
    };
  }

  /** Executes a grid, of which a device may accept only a part along x at a time. */
  private void dispatch(VkCommandBuffer commands, long arguments, Dim3 grid) {
    try (var stack = MemoryStack.stackPush()) {
      var pushed = stack.malloc(Shader.PUSHED_BYTES);
      pushed.putLong(Shader.PARAMETERS, arguments).putInt(Shader.BLOCKS, grid.x());
      int most = device.physical().maxGridX();
      for (int first = 0; first < grid.x(); first += Math.min(most, grid.x() - first)) {
        pushed.putInt(Shader.FIRST_BLOCK, first);
        vkCmdPushConstants(commands, device.layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0, pushed);
        vkCmdDispatch(commands, Math.min(most, grid.x() - first), grid.y(), grid.z());
      }
    }
  }

  /** Checks what {@link Launch#check} accepts because GPUs with CUDA can do it. */
  private void check(Launch launch) {
    if (launch.cooperative()) {
      throw refused(launch, "a cooperative launch, which Vulkan does not support");
    }
    if (launch.cluster().count() > 1) {
      throw refused(launch, "clusters of blocks, which Vulkan does not support");
    }
    if (launch.arguments().stream().anyMatch(Argument.Tensor.class::isInstance)) {
      throw refused(launch, "a tensor map, which Vulkan does not support");
    }
  }

  private static IllegalArgumentException refused(Launch launch, String got) {
    return new IllegalArgumentException(
        "cannot launch %s: got %s".formatted(launch.kernel().kernel().name(), got));
  }

  private void write(Launch launch, MemorySegment segment) {
    var kernel = launch.kernel().kernel();
    var offsets = List.copyOf(kernel.parameterOffsets().values());
    for (int i = 0; i < offsets.size(); i++) {
      int bytes = Math.toIntExact(kernel.parameters().get(i).bytes());
      var place = segment.asSlice(offsets.get(i), bytes);
      switch (launch.arguments().get(i)) {
        case Argument.Pointer pointer -> write(place, address(pointer));
        case Argument.Scalar scalar -> write(place, scalar.bits());
        case Argument.Bytes array -> place.copyFrom(array.segment());
        case Argument.Tensor _ -> throw new AssertionError("refused before");
      }
    }
  }

  /** Writes the low bytes of a number in the byte order of PTX. */
  private static void write(MemorySegment place, long bits) {
    for (int at = 0; at < place.byteSize(); at++) {
      place.set(ValueLayout.JAVA_BYTE, at, (byte) (bits >>> (8 * at)));
    }
  }

  /** Returns the address of a pointer into a buffer, at one byte at least. */
  private long address(Argument.Pointer pointer) {
    return VulkanBuffer.of(device, pointer.buffer(), pointer.offset(), 1).address()
        + pointer.offset();
  }

  void free() {
    patterns.free();
  }
}
