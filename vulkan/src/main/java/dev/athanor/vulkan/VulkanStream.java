package dev.athanor.vulkan;

import static org.lwjgl.vulkan.VK13.*;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.CaptureStream;
import dev.athanor.engine.device.Event;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.device.Stream;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.lwjgl.vulkan.VkCommandBuffer;

/**
 * A stream: batches of commands that are submitted to a queue in order. A batch is submitted when
 * it is long enough, and before anything waits for it. Host memory that the device does not access
 * is copied through a {@link StagingRing}; a stream without pending work writes to unified memory
 * directly.
 *
 * <p>The methods for a stream's user are called by one thread at a time. Other threads, which close
 * buffers, only call {@link #point}.
 */
final class VulkanStream implements Stream {

  /** Maximum number of commands of a batch. */
  private static final int BATCH = 32;

  private final LogicalDevice device;
  private final Commands commands;
  private final PendingWork pending;
  private final HostRegions hostRegions;
  private final CommandBuffers buffers;
  private final Timeline timeline;
  private @Nullable StagingRing staging;

  /** The batch that is being recorded. */
  private @Nullable VkCommandBuffer batch;

  private int length;

  /** Values of other timelines that the next batch waits for. */
  private final Map<Timeline, Long> waits = new HashMap<>();

  /** Batches that may still run. */
  private final Deque<Submitted> submitted = new ArrayDeque<>();

  private boolean closed;

  private record Submitted(VkCommandBuffer commands, Timeline.Point point) {}

  VulkanStream(Commands commands, PendingWork pending, HostRegions hostRegions) {
    this.device = commands.device();
    this.commands = commands;
    this.pending = pending;
    this.hostRegions = hostRegions;
    buffers = new CommandBuffers(device, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    timeline = device.acquireTimeline();
  }

  /**
   * Returns a stream as one of a device.
   *
   * @param work the work to enqueue, with its article, for the message
   */
  static VulkanStream of(LogicalDevice device, Stream stream, String work) {
    CaptureStream.refuse(stream, work);
    if (!(stream instanceof VulkanStream own) || own.device != device) {
      throw new IllegalArgumentException("the stream does not belong to " + device.id());
    }
    return own;
  }

  @Override
  public synchronized void upload(MemorySegment source, Buffer target, long offset) {
    requireOpen();
    var to = VulkanBuffer.of(device, target, offset, source.byteSize());
    requireAlive(source);
    var mapped = to.segment(offset, source.byteSize());
    if (mapped != null && isIdle()) {
      mapped.copyFrom(source);
      return;
    }
    var from = hostRegions.find(source);
    if (from.isPresent()) {
      run(Command.copy(from.orElseThrow(), to.range(offset, source.byteSize())));
      return;
    }
    for (long at = 0; at < source.byteSize(); at += StagingRing.MAX_SLOT_BYTES) {
      long bytes = Math.min(StagingRing.MAX_SLOT_BYTES, source.byteSize() - at);
      long slot = stage(bytes);
      staging().segment(slot, bytes).copyFrom(source.asSlice(at, bytes));
      run(Command.copy(staging().range(slot, bytes), to.range(offset + at, bytes)));
    }
  }

  @Override
  public void download(Buffer source, long offset, MemorySegment target) {
    requireOpen();
    var from = VulkanBuffer.of(device, source, offset, target.byteSize());
    requireAlive(target);
    if (target.isReadOnly()) {
      throw new IllegalArgumentException("the memory to download to is read-only");
    }
    var mapped = from.segment(offset, target.byteSize());
    if (mapped != null) {
      synchronize();
      target.copyFrom(mapped);
      return;
    }
    var to = hostRegions.find(target);
    if (to.isPresent()) {
      run(Command.copy(from.range(offset, target.byteSize()), to.orElseThrow()));
      return;
    }
    for (long at = 0; at < target.byteSize(); at += StagingRing.MAX_SLOT_BYTES) {
      long bytes = Math.min(StagingRing.MAX_SLOT_BYTES, target.byteSize() - at);
      MemorySegment slot;
      synchronized (this) {
        long place = stage(bytes);
        slot = staging().segment(place, bytes);
        run(Command.copy(from.range(offset + at, bytes), staging().range(place, bytes)));
      }
      synchronize();
      target.asSlice(at, bytes).copyFrom(slot);
    }
  }

  @Override
  public synchronized void copy(
      Buffer source, long sourceOffset, Buffer target, long targetOffset, long bytes) {
    requireOpen();
    run(commands.copy(source, sourceOffset, target, targetOffset, bytes));
  }

  @Override
  public synchronized void fill(Buffer target, long offset, long bytes, byte value) {
    requireOpen();
    run(commands.fill(target, offset, bytes, value));
  }

  @Override
  public synchronized void launch(Launch launch) {
    requireOpen();
    run(
        commands.launch(
            launch,
            bytes -> {
              long slot = stage(bytes);
              return new Commands.Slot(staging().segment(slot, bytes), staging().address(slot));
            }));
  }

  @Override
  public synchronized Event record() {
    requireOpen();
    var event = new VulkanEvent(device, pending);
    run(event);
    flush();
    event.recorded(timeline.point());
    return event;
  }

  @Override
  public synchronized void await(Event event) {
    requireOpen();
    await(VulkanEvent.of(device, event).point());
  }

  /** Makes later work wait for work of another stream. */
  private void await(Timeline.Point point) {
    if (point.timeline() != timeline && !point.hasPassed()) {
      if (batch != null) {
        flush();
      }
      waits.merge(point.timeline(), point.value(), Math::max);
    }
  }

  /** Runs a graph after its last launch; returns the end of this launch. */
  synchronized Timeline.Point runGraph(VkCommandBuffer graph, Timeline.@Nullable Point last) {
    requireOpen();
    if (last != null) {
      await(last);
    }
    run(into -> {
      vkCmdExecuteCommands(into, graph);
      Command.order(into);
    });
    flush();
    return timeline.point();
  }

  @Override
  public void synchronize() {
    requireOpen();
    point().await();
  }

  /** Submits all work; returns its end. */
  synchronized Timeline.Point point() {
    if (!closed && !device.isUnusable()) {
      flush();
    }
    return timeline.point();
  }

  private boolean isIdle() {
    return batch == null && waits.isEmpty() && timeline.point().hasPassed();
  }

  private void run(Command command) {
    synchronized (this) {
      command.record(begin());
      length++;
      if (length == BATCH) {
        flush();
      }
    }
  }

  private VkCommandBuffer begin() {
    var current = batch;
    if (current == null) {
      while (!submitted.isEmpty() && submitted.element().point.hasPassed()) {
        buffers.release(submitted.remove().commands);
      }
      current = buffers.begin(VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
      batch = current;
      length = 0;
    }
    return current;
  }

  private void flush() {
    if (batch == null && waits.isEmpty()) {
      return;
    }
    var complete = begin();
    device.check(vkEndCommandBuffer(complete), "vkEndCommandBuffer");
    batch = null;
    timeline.submit(complete, waits);
    waits.clear();
    submitted.add(new Submitted(complete, timeline.point()));
  }

  private StagingRing staging() {
    var ring = staging;
    if (ring == null) {
      ring = new StagingRing(device);
      staging = ring;
    }
    return ring;
  }

  /** Returns the offset of a slot of the ring for the current batch. */
  private long stage(long bytes) {
    while (true) {
      long slot = staging().take(bytes, new Timeline.Point(timeline, timeline.submitted() + 1));
      if (slot >= 0) {
        return slot;
      }
      flush();
      staging().awaitOldest();
    }
  }

  @Override
  public void close() {
    if (isClosed()) {
      return;
    }
    try {
      if (!device.isUnusable()) {
        point().await();
      }
    } finally {
      release();
    }
  }

  private synchronized void release() {
    if (!closed) {
      closed = true;
      pending.remove(this);
      if (!device.isUnusable()) {
        if (staging != null) {
          staging.free();
        }
        buffers.destroy();
        device.release(timeline);
      }
    }
  }

  private synchronized boolean isClosed() {
    return closed;
  }

  private void requireOpen() {
    device.requireUsable();
    if (isClosed()) {
      throw new IllegalStateException("the stream is closed");
    }
  }

  private static void requireAlive(MemorySegment memory) {
    if (!memory.scope().isAlive()) {
      throw new IllegalStateException("the host memory is closed");
    }
  }
}
