package dev.athanor.vulkan;

import static org.lwjgl.vulkan.VK13.*;

import dev.athanor.engine.device.Event;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.lwjgl.system.MemoryStack;
import org.lwjgl.vulkan.VkCommandBuffer;
import org.lwjgl.vulkan.VkQueryPoolCreateInfo;

/** An event with a timestamp, which is the only query of its pool. */
final class VulkanEvent implements Event, Command {

  private final LogicalDevice device;
  private final PendingWork pending;
  private final long query;
  private Timeline.@Nullable Point point;
  private final AtomicBoolean closed = new AtomicBoolean();

  VulkanEvent(LogicalDevice device, PendingWork pending) {
    this.device = device;
    this.pending = pending;
    try (var stack = MemoryStack.stackPush()) {
      var info =
          VkQueryPoolCreateInfo.calloc(stack)
              .sType$Default()
              .queryType(VK_QUERY_TYPE_TIMESTAMP)
              .queryCount(1);
      query =
          device.create(
              "vkCreateQueryPool", made -> vkCreateQueryPool(device.handle(), info, null, made));
    }
  }

  @Override
  public void record(VkCommandBuffer commands) {
    vkCmdResetQueryPool(commands, query, 0, 1);
    vkCmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, query, 0);
  }

  /** Sets the end of the batch that records the event. */
  void recorded(Timeline.Point end) {
    point = end;
  }

  /**
   * Returns an event as one of a device.
   *
   * @throws IllegalArgumentException if it belongs to another device
   * @throws IllegalStateException if it is closed
   */
  static VulkanEvent of(LogicalDevice device, Event event) {
    if (!(event instanceof VulkanEvent own) || own.device != device) {
      throw new IllegalArgumentException("the event does not belong to " + device.id());
    }
    own.requireOpen();
    return own;
  }

  Timeline.Point point() {
    var end = point;
    if (end == null) {
      throw new IllegalStateException("the event was not recorded");
    }
    return end;
  }

  @Override
  public void synchronize() {
    requireOpen();
    point().await();
  }

  @Override
  public double microsSince(Event earlier) {
    var from = of(device, earlier);
    requireOpen();
    if (!point().hasPassed() || !from.point().hasPassed()) {
      throw new IllegalStateException("the event has not completed; synchronize with it first");
    }
    int unused = Long.SIZE - device.physical().timestampBits();
    long difference = (timestamp() - from.timestamp()) << unused >> unused;
    return difference * device.physical().timestampNanos() / 1e3;
  }

  private long timestamp() {
    try (var stack = MemoryStack.stackPush()) {
      var value = stack.mallocLong(1);
      device.check(
          vkGetQueryPoolResults(
              device.handle(), query, 0, 1, value, Long.BYTES, VK_QUERY_RESULT_64_BIT),
          "vkGetQueryPoolResults");
      return value.get(0);
    }
  }

  @Override
  public void close() {
    if (closed.compareAndSet(false, true) && !device.isUnusable()) {
      pending.defer(() -> vkDestroyQueryPool(device.handle(), query, null));
    }
  }

  private void requireOpen() {
    device.requireUsable();
    if (closed.get()) {
      throw new IllegalStateException("the event is closed");
    }
  }
}
