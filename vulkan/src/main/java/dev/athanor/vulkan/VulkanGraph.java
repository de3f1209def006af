package dev.athanor.vulkan;

import static org.lwjgl.vulkan.VK13.*;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.CaptureStream;
import dev.athanor.engine.device.Graph;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.device.LoadedKernel;
import dev.athanor.engine.device.Stream;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.lwjgl.vulkan.VkCommandBuffer;

/** Captured work: a secondary command buffer, recorded once, and the arguments of its kernels. */
final class VulkanGraph implements Graph {

  private final LogicalDevice device;
  private final PendingWork pending;
  private final Set<VulkanGraph> openGraphs;
  private final Capture capture;
  private Timeline.@Nullable Point last;
  private boolean closed;

  private VulkanGraph(
      LogicalDevice device, PendingWork pending, Set<VulkanGraph> openGraphs, Capture capture) {
    this.device = device;
    this.pending = pending;
    this.openGraphs = openGraphs;
    this.capture = capture;
  }

  /**
   * Captures the work that {@code code} enqueues on a stream.
   *
   * @param openGraphs receives the graph, which removes itself when it is closed
   */
  static VulkanGraph capture(
      Commands commands, PendingWork pending, Set<VulkanGraph> openGraphs, Consumer<Stream> code) {
    var device = commands.device();
    var capture = new Capture(commands);
    boolean complete = false;
    try {
      code.accept(capture);
      device.check(vkEndCommandBuffer(capture.recorded), "vkEndCommandBuffer");
      complete = true;
    } finally {
      capture.end();
      if (!complete && !device.isUnusable()) {
        capture.free();
      }
    }
    var graph = new VulkanGraph(device, pending, openGraphs, capture);
    openGraphs.add(graph);
    return graph;
  }

  @Override
  public synchronized void launch(Stream stream) {
    var own = VulkanStream.of(device, stream, "a graph");
    device.requireUsable();
    if (closed) {
      throw new IllegalStateException("the graph is closed");
    }
    for (var buffer : capture.buffers) {
      VulkanBuffer.of(device, buffer, 0, 0); // throws if the buffer is closed
    }
    last = own.runGraph(capture.recorded, last);
  }

  @Override
  public synchronized void close() {
    if (!closed) {
      closed = true;
      openGraphs.remove(this);
      if (!device.isUnusable()) {
        pending.defer(capture::free);
      }
    }
  }

  private static final class Capture extends CaptureStream {

    private static final long ARGUMENT_BYTES = 64 << 10;
    private static final long ALIGNMENT = 64;

    private final Commands commands;
    private final CommandBuffers pool;
    private final VkCommandBuffer recorded;
    private final Set<Buffer> buffers = new HashSet<>();

    /** Their pipelines must not be destroyed. */
    private final Set<LoadedKernel> kernels = new HashSet<>();

    private final List<MemoryRegion> arguments = new ArrayList<>();

    /** Bytes used of the last of the regions for arguments. */
    private long used = ARGUMENT_BYTES;

    Capture(Commands commands) {
      this.commands = commands;
      pool = new CommandBuffers(commands.device(), VK_COMMAND_BUFFER_LEVEL_SECONDARY);
      recorded = pool.begin(VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
    }

    @Override
    public void copy(
        Buffer source, long sourceOffset, Buffer target, long targetOffset, long bytes) {
      requireOpen();
      commands.copy(source, sourceOffset, target, targetOffset, bytes).record(recorded);
      buffers.addAll(List.of(source, target));
    }

    @Override
    public void fill(Buffer target, long offset, long bytes, byte value) {
      requireOpen();
      commands.fill(target, offset, bytes, value).record(recorded);
      buffers.add(target);
    }

    @Override
    public void launch(Launch launch) {
      requireOpen();
      commands.launch(launch, this::slot).record(recorded);
      buffers.addAll(launch.buffers());
      kernels.add(launch.kernel());
    }

    private Commands.Slot slot(int bytes) {
      if (used + bytes > ARGUMENT_BYTES) {
        arguments.add(MemoryRegion.require(commands.device(), ARGUMENT_BYTES));
        used = 0;
      }
      var region = arguments.getLast();
      var slot =
          new Commands.Slot(region.requireSegment().asSlice(used, bytes), region.address() + used);
      used = Math.ceilDiv(used + bytes, ALIGNMENT) * ALIGNMENT;
      return slot;
    }

    /** Frees the commands, which no work uses any more. */
    void free() {
      pool.destroy();
      arguments.forEach(MemoryRegion::free);
    }
  }
}
