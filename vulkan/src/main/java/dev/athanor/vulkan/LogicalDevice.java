package dev.athanor.vulkan;

import static org.lwjgl.vulkan.VK13.*;

import dev.athanor.engine.device.DeviceException;
import dev.athanor.vulkan.spirv.Shader;
import java.nio.LongBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;
import org.lwjgl.system.MemoryStack;
import org.lwjgl.vulkan.VkDevice;
import org.lwjgl.vulkan.VkDeviceCreateInfo;
import org.lwjgl.vulkan.VkDeviceQueueCreateInfo;
import org.lwjgl.vulkan.VkPipelineLayoutCreateInfo;
import org.lwjgl.vulkan.VkPushConstantRange;
import org.lwjgl.vulkan.VkQueue;

/** An opened Vulkan device: its queues, its timelines, and whether it is closed or lost. */
final class LogicalDevice {

  /** Maximum number of queues that streams share. */
  private static final int MAX_QUEUES = 4;

  private static final long TIMEOUT_MINUTES = 10;
  private static final int MAX_RECENT_KERNELS = 32;

  private final String id;
  private final PhysicalDevice physical;
  private final boolean unifiedMemory;
  private final VkDevice handle;
  private final List<VkQueue> queues = new ArrayList<>();
  private final long layout;

  /** All timelines, and those that no stream uses. They keep counting when they are reused. */
  private final List<Timeline> timelines = new ArrayList<>();

  private final Deque<Timeline> idle = new ArrayDeque<>();

  /** Some of the last kernels, for the message of a lost device. */
  private final Set<String> recentKernels = ConcurrentHashMap.newKeySet();

  private volatile @Nullable String lost;
  private volatile boolean closed;

  private LogicalDevice(
      String id, PhysicalDevice physical, boolean unifiedMemory, MemoryStack stack) {
    this.id = id;
    this.physical = physical;
    this.unifiedMemory = unifiedMemory;
    int count = Math.min(MAX_QUEUES, physical.queues());
    var priorities = stack.callocFloat(count);
    var names = stack.mallocPointer(physical.extensions().size());
    physical.extensions().forEach(name -> names.put(stack.UTF8(name)));
    names.flip();
    var info =
        VkDeviceCreateInfo.calloc(stack)
            .sType$Default()
            .pQueueCreateInfos(
                VkDeviceQueueCreateInfo.calloc(1, stack)
                    .sType$Default()
                    .queueFamilyIndex(physical.queueFamily())
                    .pQueuePriorities(priorities))
            .pNext(new SupportedFeatures(physical.handle(), physical.extensions(), stack).enabled())
            .ppEnabledExtensionNames(names);
    var pointer = stack.mallocPointer(1);
    int result = vkCreateDevice(physical.handle(), info, null, pointer);
    if (result != VK_SUCCESS) {
      throw new DeviceException.Unavailable(
          "cannot open %s: vkCreateDevice failed with %s".formatted(id, describe(result)));
    }
    handle = new VkDevice(pointer.get(0), physical.handle(), info);
    for (int i = 0; i < count; i++) {
      vkGetDeviceQueue(handle, physical.queueFamily(), i, pointer);
      queues.add(new VkQueue(pointer.get(0), handle));
    }
    var address =
        VkPushConstantRange.calloc(1, stack)
            .stageFlags(VK_SHADER_STAGE_COMPUTE_BIT)
            .size(Shader.PUSHED_BYTES);
    layout =
        create(
            "vkCreatePipelineLayout",
            made ->
                vkCreatePipelineLayout(
                    handle,
                    VkPipelineLayoutCreateInfo.calloc(stack)
                        .sType$Default()
                        .pPushConstantRanges(address),
                    null,
                    made));
  }

  /**
   * Opens a device.
   *
   * @param unifiedMemory whether the host reads and writes buffers directly
   */
  static LogicalDevice open(String id, PhysicalDevice physical, boolean unifiedMemory) {
    try (var stack = MemoryStack.stackPush()) {
      return new LogicalDevice(id, physical, unifiedMemory, stack);
    }
  }

  String id() {
    return id;
  }

  PhysicalDevice physical() {
    return physical;
  }

  boolean unifiedMemory() {
    return unifiedMemory;
  }

  VkDevice handle() {
    return handle;
  }

  long layout() {
    return layout;
  }

  /** Calls a function that creates an object; returns the object. */
  long create(String call, ToIntFunction<LongBuffer> function) {
    try (var stack = MemoryStack.stackPush()) {
      var made = stack.mallocLong(1);
      check(function.applyAsInt(made), call);
      return made.get(0);
    }
  }

  /** Returns a timeline that no other stream uses. */
  synchronized Timeline acquireTimeline() {
    var known = idle.poll();
    if (known != null) {
      return known;
    }
    var made = new Timeline(this, queues.get(timelines.size() % queues.size()));
    timelines.add(made);
    return made;
  }

  /** Takes back the timeline of a closed stream. */
  synchronized void release(Timeline timeline) {
    idle.add(timeline);
  }

  void launched(String kernel) {
    if (recentKernels.size() >= MAX_RECENT_KERNELS) {
      recentKernels.clear();
    }
    recentKernels.add(kernel);
  }

  /** Waits until a timeline has reached a value. */
  void await(Timeline timeline, long value) {
    requireNotLost();
    int result = timeline.await(value, TimeUnit.MINUTES.toNanos(TIMEOUT_MINUTES));
    if (result == VK_TIMEOUT) {
      throw lost("its work took more than %d minutes".formatted(TIMEOUT_MINUTES));
    }
    check(result, "vkWaitSemaphores");
  }

  void check(int result, String call) {
    if (result == VK_ERROR_DEVICE_LOST) {
      throw lost(call + " failed with VK_ERROR_DEVICE_LOST");
    }
    if (result == VK_ERROR_OUT_OF_HOST_MEMORY) {
      throw DeviceException.OutOfMemory.ofHost(0, call + " failed with " + describe(result));
    }
    if (result < 0) {
      throw new IllegalStateException(
          "%s: %s failed with %s".formatted(id, call, describe(result)));
    }
  }

  private DeviceException.Lost lost(String reason) {
    var kernels = String.join(", ", new TreeSet<>(recentKernels));
    var message =
        "%s is lost: %s; it ran %s"
            .formatted(id, reason, kernels.isEmpty() ? "no kernel" : "the kernels " + kernels);
    lost = message;
    return new DeviceException.Lost(message);
  }

  /** Returns whether the device is closed or lost. */
  boolean isUnusable() {
    return closed || lost != null;
  }

  void requireUsable() {
    requireNotLost();
    if (closed) {
      throw new IllegalStateException(id + " is closed");
    }
  }

  private void requireNotLost() {
    var message = lost;
    if (message != null) {
      throw new DeviceException.Lost(message);
    }
  }

  /** Destroys the device. A lost device may still run work and is left to the driver. */
  synchronized void close() {
    if (!isUnusable()) {
      timelines.forEach(Timeline::destroy);
      vkDestroyPipelineLayout(handle, layout, null);
      vkDestroyDevice(handle, null);
    }
    closed = true;
  }

  /** Returns the name of a result code. */
  static String describe(int result) {
    return switch (result) {
      case VK_ERROR_OUT_OF_HOST_MEMORY -> "VK_ERROR_OUT_OF_HOST_MEMORY";
      case VK_ERROR_OUT_OF_DEVICE_MEMORY -> "VK_ERROR_OUT_OF_DEVICE_MEMORY";
      case VK_ERROR_INITIALIZATION_FAILED -> "VK_ERROR_INITIALIZATION_FAILED";
      case VK_ERROR_DEVICE_LOST -> "VK_ERROR_DEVICE_LOST";
      case VK_ERROR_FEATURE_NOT_PRESENT -> "VK_ERROR_FEATURE_NOT_PRESENT";
      case VK_ERROR_INCOMPATIBLE_DRIVER -> "VK_ERROR_INCOMPATIBLE_DRIVER";
      case VK_ERROR_TOO_MANY_OBJECTS -> "VK_ERROR_TOO_MANY_OBJECTS";
      default -> "error " + result;
    };
  }
}
