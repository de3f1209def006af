package dev.athanor.vulkan;

import static org.lwjgl.vulkan.VK13.*;

import dev.athanor.engine.device.DeviceException;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.lwjgl.system.MemoryStack;
import org.lwjgl.vulkan.VkBufferCreateInfo;
import org.lwjgl.vulkan.VkBufferDeviceAddressInfo;
import org.lwjgl.vulkan.VkMemoryAllocateFlagsInfo;
import org.lwjgl.vulkan.VkMemoryAllocateInfo;
import org.lwjgl.vulkan.VkMemoryRequirements;

/** An allocation of the driver with a buffer over it, usable from the first aligned byte on. */
final class MemoryRegion {

  static final long ALIGNMENT = 256;

  private static final int USAGE =
      VK_BUFFER_USAGE_STORAGE_BUFFER_BIT
          | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT
          | VK_BUFFER_USAGE_TRANSFER_SRC_BIT
          | VK_BUFFER_USAGE_TRANSFER_DST_BIT;

  private final LogicalDevice device;
  private final long bytes;
  private final long buffer;
  private final long memory;
  private final long address;

  /** Offset of the first usable byte in the buffer. */
  private final long skipped;

  private final @Nullable MemorySegment segment;

  private MemoryRegion(LogicalDevice device, long bytes, long buffer, long memory, boolean mapped) {
    this.device = device;
    this.bytes = bytes;
    this.buffer = buffer;
    this.memory = memory;
    try (var stack = MemoryStack.stackPush()) {
      var info = VkBufferDeviceAddressInfo.calloc(stack).sType$Default().buffer(buffer);
      long start = vkGetBufferDeviceAddress(device.handle(), info);
      skipped = -start & (ALIGNMENT - 1);
      address = start + skipped;
      segment = mapped ? map(stack) : null;
    }
  }

  @SuppressWarnings("restricted") // the driver mapped that many bytes at the address
  private MemorySegment map(MemoryStack stack) {
    var pointer = stack.mallocPointer(1);
    device.check(vkMapMemory(device.handle(), memory, 0, VK_WHOLE_SIZE, 0, pointer), "vkMapMemory");
    return MemorySegment.ofAddress(pointer.get(0) + skipped).reinterpret(bytes);
  }

  /**
   * Allocates memory; empty if the driver has none left.
   *
   * @param memoryType index of the memory type
   * @param mapped whether the host accesses the memory
   */
  static Optional<MemoryRegion> allocate(
      LogicalDevice device, long bytes, int memoryType, boolean mapped) {
    try (var stack = MemoryStack.stackPush()) {
      var vk = device.handle();
      var made = stack.mallocLong(1);
      var info =
          VkBufferCreateInfo.calloc(stack).sType$Default().size(bytes + ALIGNMENT).usage(USAGE);
      if (isOutOfMemory(device, vkCreateBuffer(vk, info, null, made), "vkCreateBuffer")) {
        return Optional.empty();
      }
      long buffer = made.get(0);
      var needed = VkMemoryRequirements.calloc(stack);
      vkGetBufferMemoryRequirements(vk, buffer, needed);
      var allocation =
          VkMemoryAllocateInfo.calloc(stack)
              .sType$Default()
              .allocationSize(needed.size())
              .memoryTypeIndex(memoryType)
              .pNext(
                  VkMemoryAllocateFlagsInfo.calloc(stack)
                      .sType$Default()
                      .flags(VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT));
      if (isOutOfMemory(device, vkAllocateMemory(vk, allocation, null, made), "vkAllocateMemory")) {
        vkDestroyBuffer(vk, buffer, null);
        return Optional.empty();
      }
      long memory = made.get(0);
      device.check(vkBindBufferMemory(vk, buffer, memory, 0), "vkBindBufferMemory");
      return Optional.of(new MemoryRegion(device, bytes, buffer, memory, mapped));
    }
  }

  /**
   * Allocates memory of the host that the device accesses.
   *
   * @throws DeviceException.OutOfMemory if the host has none left
   */
  static MemoryRegion require(LogicalDevice device, long bytes) {
    boolean possible = bytes <= device.physical().maxAllocationBytes() - ALIGNMENT;
    return Optional.of(device.physical().hostMemory())
        .filter(_ -> possible)
        .flatMap(type -> allocate(device, bytes, type, true))
        .orElseThrow(() ->
            DeviceException.OutOfMemory.ofHost(
                bytes, "the driver of %s has too little memory".formatted(device.id())));
  }

  private static boolean isOutOfMemory(LogicalDevice device, int result, String call) {
    boolean exhausted =
        result == VK_ERROR_OUT_OF_DEVICE_MEMORY
            || result == VK_ERROR_OUT_OF_HOST_MEMORY
            || result == VK_ERROR_TOO_MANY_OBJECTS;
    if (!exhausted) {
      device.check(result, call);
    }
    return exhausted;
  }

  long bytes() {
    return bytes;
  }

  long address() {
    return address;
  }

  /** Returns the memory for the host; null if the host cannot access it. */
  @Nullable MemorySegment segment() {
    return segment;
  }

  /** Returns the memory for the host, which must be mapped. */
  MemorySegment requireSegment() {
    return Objects.requireNonNull(segment);
  }

  /** Returns a range for copies. */
  Range range(long offset, long length) {
    return new Range(buffer, skipped + offset, length);
  }

  /**
   * A range of a buffer of the driver.
   *
   * @param buffer the driver's buffer
   */
  record Range(long buffer, long offset, long bytes) {}

  /** Frees the memory, which no work uses any more. */
  void free() {
    vkDestroyBuffer(device.handle(), buffer, null);
    vkFreeMemory(device.handle(), memory, null);
  }
}
