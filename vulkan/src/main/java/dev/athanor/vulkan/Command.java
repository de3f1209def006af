package dev.athanor.vulkan;

import static org.lwjgl.vulkan.VK13.*;

import org.lwjgl.system.MemoryStack;
import org.lwjgl.vulkan.VkBufferCopy;
import org.lwjgl.vulkan.VkCommandBuffer;
import org.lwjgl.vulkan.VkDependencyInfo;
import org.lwjgl.vulkan.VkMemoryBarrier2;

/** Work of a stream that has been checked. Work recorded later waits for it. */
@FunctionalInterface
interface Command {

  Command NOTHING = _ -> {};

  void record(VkCommandBuffer commands);

  /** Returns a copy between ranges of the same length. */
  static Command copy(MemoryRegion.Range from, MemoryRegion.Range to) {
    return from.bytes() == 0
        ? NOTHING
        : commands -> {
          copyUnordered(commands, from, to);
          order(commands);
        };
  }

  /** Records a copy without a barrier. */
  static void copyUnordered(
      VkCommandBuffer commands, MemoryRegion.Range from, MemoryRegion.Range to) {
    try (var stack = MemoryStack.stackPush()) {
      var part =
          VkBufferCopy.calloc(1, stack)
              .srcOffset(from.offset())
              .dstOffset(to.offset())
              .size(from.bytes());
      vkCmdCopyBuffer(commands, from.buffer(), to.buffer(), part);
    }
  }

  /** Lets later work, and the host, wait for all earlier work and see what it wrote. */
  static void order(VkCommandBuffer commands) {
    try (var stack = MemoryStack.stackPush()) {
      var barrier =
          VkMemoryBarrier2.calloc(1, stack)
              .sType$Default()
              .srcStageMask(VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT)
              .srcAccessMask(VK_ACCESS_2_MEMORY_WRITE_BIT)
              .dstStageMask(VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_2_HOST_BIT)
              .dstAccessMask(
                  VK_ACCESS_2_MEMORY_READ_BIT
                      | VK_ACCESS_2_MEMORY_WRITE_BIT
                      | VK_ACCESS_2_HOST_READ_BIT);
      vkCmdPipelineBarrier2(
          commands, VkDependencyInfo.calloc(stack).sType$Default().pMemoryBarriers(barrier));
    }
  }
}
