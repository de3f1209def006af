package dev.athanor.vulkan;

import static org.lwjgl.vulkan.VK13.*;

import java.util.Map;
import org.lwjgl.system.MemoryStack;
import org.lwjgl.vulkan.VkCommandBuffer;
import org.lwjgl.vulkan.VkCommandBufferSubmitInfo;
import org.lwjgl.vulkan.VkQueue;
import org.lwjgl.vulkan.VkSemaphoreCreateInfo;
import org.lwjgl.vulkan.VkSemaphoreSubmitInfo;
import org.lwjgl.vulkan.VkSemaphoreTypeCreateInfo;
import org.lwjgl.vulkan.VkSemaphoreWaitInfo;
import org.lwjgl.vulkan.VkSubmitInfo2;

/**
 * The progress of a stream: a timeline semaphore whose value is the number of completed batches. It
 * outlives its stream, so that its points can be queried as long as the device is open.
 */
final class Timeline {

  private final LogicalDevice device;
  private final VkQueue queue;
  private final long semaphore;
  private volatile long submitted;
  private volatile long reached;

  Timeline(LogicalDevice device, VkQueue queue) {
    this.device = device;
    this.queue = queue;
    try (var stack = MemoryStack.stackPush()) {
      var type =
          VkSemaphoreTypeCreateInfo.calloc(stack)
              .sType$Default()
              .semaphoreType(VK_SEMAPHORE_TYPE_TIMELINE);
      var info = VkSemaphoreCreateInfo.calloc(stack).sType$Default().pNext(type);
      semaphore =
          device.create(
              "vkCreateSemaphore", made -> vkCreateSemaphore(device.handle(), info, null, made));
    }
  }

  /** Work of a stream up to a value of its timeline. */
  record Point(Timeline timeline, long value) {
    boolean hasPassed() {
      return timeline.hasReached(value);
    }

    void await() {
      if (!hasPassed()) {
        timeline.device.await(timeline, value);
      }
    }
  }

  /** Returns the number of batches submitted. */
  long submitted() {
    return submitted;
  }

  Point point() {
    return new Point(this, submitted);
  }

  /**
   * Submits a batch, which advances the timeline when it completes. One thread calls this at a
   * time.
   *
   * @param waits values of other timelines that the batch waits for
   */
  void submit(VkCommandBuffer commands, Map<Timeline, Long> waits) {
    long next = submitted + 1;
    try (var stack = MemoryStack.stackPush()) {
      var awaited = VkSemaphoreSubmitInfo.calloc(waits.size(), stack);
      waits.forEach((other, value) ->
          awaited
              .get()
              .sType$Default()
              .semaphore(other.semaphore)
              .value(value)
              .stageMask(VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT));
      var signaled =
          VkSemaphoreSubmitInfo.calloc(1, stack)
              .sType$Default()
              .semaphore(semaphore)
              .value(next)
              .stageMask(VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
      var batch =
          VkSubmitInfo2.calloc(1, stack)
              .sType$Default()
              .pWaitSemaphoreInfos(awaited.flip())
              .pCommandBufferInfos(
                  VkCommandBufferSubmitInfo.calloc(1, stack)
                      .sType$Default()
                      .commandBuffer(commands))
              .pSignalSemaphoreInfos(signaled);
      int result;
      synchronized (queue) {
        result = vkQueueSubmit2(queue, batch, VK_NULL_HANDLE);
      }
      device.check(result, "vkQueueSubmit2");
      submitted = next;
    }
  }

  boolean hasReached(long value) {
    if (reached < value) {
      reached =
          device.create(
              "vkGetSemaphoreCounterValue",
              counter -> vkGetSemaphoreCounterValue(device.handle(), semaphore, counter));
    }
    return reached >= value;
  }

  /** Waits for a value; returns the driver's result. */
  int await(long value, long nanos) {
    try (var stack = MemoryStack.stackPush()) {
      var info =
          VkSemaphoreWaitInfo.calloc(stack)
              .sType$Default()
              .semaphoreCount(1)
              .pSemaphores(stack.longs(semaphore))
              .pValues(stack.longs(value));
      return vkWaitSemaphores(device.handle(), info, nanos);
    }
  }

  void destroy() {
    vkDestroySemaphore(device.handle(), semaphore, null);
  }
}
