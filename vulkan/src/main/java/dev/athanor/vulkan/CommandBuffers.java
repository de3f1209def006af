package dev.athanor.vulkan;

import static org.lwjgl.vulkan.VK13.*;

import java.util.ArrayDeque;
import java.util.Deque;
import org.lwjgl.system.MemoryStack;
import org.lwjgl.vulkan.VkCommandBuffer;
import org.lwjgl.vulkan.VkCommandBufferAllocateInfo;
import org.lwjgl.vulkan.VkCommandBufferBeginInfo;
import org.lwjgl.vulkan.VkCommandBufferInheritanceInfo;
import org.lwjgl.vulkan.VkCommandPoolCreateInfo;

/** The command buffers of a stream or graph. */
final class CommandBuffers {

  private final LogicalDevice device;
  private final int level;
  private final long pool;
  private final Deque<VkCommandBuffer> idle = new ArrayDeque<>();

  /**
   * @param level whether the driver submits the buffers or executes them within others
   */
  CommandBuffers(LogicalDevice device, int level) {
    this.device = device;
    this.level = level;
    device.requireUsable();
    try (var stack = MemoryStack.stackPush()) {
      var info =
          VkCommandPoolCreateInfo.calloc(stack)
              .sType$Default()
              .flags(VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT)
              .queueFamilyIndex(device.physical().queueFamily());
      pool =
          device.create(
              "vkCreateCommandPool",
              made -> vkCreateCommandPool(device.handle(), info, null, made));
    }
  }

  /** Returns a buffer that records. */
  VkCommandBuffer begin(int usage) {
    try (var stack = MemoryStack.stackPush()) {
      var buffer = idle.poll();
      if (buffer == null) {
        var info =
            VkCommandBufferAllocateInfo.calloc(stack)
                .sType$Default()
                .commandPool(pool)
                .level(level)
                .commandBufferCount(1);
        var made = stack.mallocPointer(1);
        device.check(
            vkAllocateCommandBuffers(device.handle(), info, made), "vkAllocateCommandBuffers");
        buffer = new VkCommandBuffer(made.get(0), device.handle());
      }
      var info =
          VkCommandBufferBeginInfo.calloc(stack)
              .sType$Default()
              .flags(usage)
              .pInheritanceInfo(VkCommandBufferInheritanceInfo.calloc(stack).sType$Default());
      device.check(vkBeginCommandBuffer(buffer, info), "vkBeginCommandBuffer");
      return buffer;
    }
  }

  /** Takes back a buffer whose commands have completed. */
  void release(VkCommandBuffer buffer) {
    idle.add(buffer);
  }

  /** Destroys the buffers, whose commands have completed. */
  void destroy() {
    vkDestroyCommandPool(device.handle(), pool, null);
  }
}
