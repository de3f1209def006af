package dev.athanor.vulkan;

import static org.lwjgl.vulkan.VK13.*;

import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.LoadedKernel;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Warps;
import dev.athanor.vulkan.flow.UnsupportedKernelException;
import dev.athanor.vulkan.spirv.Shader;
import dev.athanor.vulkan.spirv.Translator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.lwjgl.system.MemoryStack;
import org.lwjgl.system.MemoryUtil;
import org.lwjgl.vulkan.VkComputePipelineCreateInfo;
import org.lwjgl.vulkan.VkPipelineShaderStageRequiredSubgroupSizeCreateInfo;
import org.lwjgl.vulkan.VkShaderModuleCreateInfo;

/** A kernel and its pipelines, one for each shape of blocks and size of dynamic shared memory. */
final class VulkanKernel {

  private final LogicalDevice device;
  private final Kernel kernel;

  /** The kernel without calls. */
  private final Kernel inlined;

  private final Map<Shape, Long> pipelines = new ConcurrentHashMap<>();

  private record Shape(Dim3 block, int dynamicSharedBytes) {}

  /** The kernel as its users see it. */
  record Loaded(VulkanKernel code, Origin origin) implements LoadedKernel {
    @Override
    public Kernel kernel() {
      return code.kernel;
    }
  }

  VulkanKernel(LogicalDevice device, Kernel kernel, Kernel inlined) {
    this.device = device;
    this.kernel = kernel;
    this.inlined = inlined;
  }

  /**
   * Returns the code of a kernel of a device.
   *
   * @throws IllegalArgumentException if the kernel was loaded on another device
   */
  static VulkanKernel of(LogicalDevice device, LoadedKernel kernel) {
    if (!(kernel instanceof Loaded loaded) || loaded.code.device != device) {
      throw new IllegalArgumentException(
          "kernel %s was not loaded on %s".formatted(kernel.kernel().name(), device.id()));
    }
    return loaded.code;
  }

  Kernel kernel() {
    return kernel;
  }

  /**
   * Returns the pipeline for a shape of blocks.
   *
   * @throws DeviceException.LoadFailed if the kernel cannot be translated, or needs more shared
   *     memory than the device has
   */
  long pipeline(Dim3 block, int dynamicSharedBytes) {
    return pipelines.computeIfAbsent(new Shape(block, dynamicSharedBytes), this::compile);
  }

  private long compile(Shape shape) {
    Shader shader;
    try {
      shader =
          Translator.translate(
              inlined, shape.block, shape.dynamicSharedBytes, device.physical().features());
    } catch (UnsupportedKernelException e) {
      var failed = new DeviceException.LoadFailed(kernel.name(), String.valueOf(e.getMessage()));
      failed.initCause(e);
      throw failed;
    }
    int limit = device.physical().features().sharedBytes();
    if (shader.sharedBytes() > limit) {
      throw new DeviceException.LoadFailed(
          kernel.name(),
          "it needs %d bytes of shared memory for blocks of %s threads; the limit of %s is %d"
              .formatted(shader.sharedBytes(), shape.block, device.physical().name(), limit));
    }
    return compile(shader);
  }

  private long compile(Shader shader) {
    var vk = device.handle();
    var code = MemoryUtil.memAlloc(shader.code().remaining()).put(shader.code().duplicate()).flip();
    try (var stack = MemoryStack.stackPush()) {
      var info = VkShaderModuleCreateInfo.calloc(stack).sType$Default().pCode(code);
      long module =
          device.create("vkCreateShaderModule", made -> vkCreateShaderModule(vk, info, null, made));
      try {
        var pipeline =
            VkComputePipelineCreateInfo.calloc(1, stack).sType$Default().layout(device.layout());
        var stage =
            pipeline
                .get(0)
                .stage()
                .sType$Default()
                .stage(VK_SHADER_STAGE_COMPUTE_BIT)
                .module(module)
                .pName(stack.UTF8("main"));
        if (device.physical().features().subgroups() && !shader.sharedLanes()) {
          stage.pNext(
              VkPipelineShaderStageRequiredSubgroupSizeCreateInfo.calloc(stack)
                  .sType$Default()
                  .requiredSubgroupSize(Warps.SIZE)
                  .address());
          stage.flags(VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT);
        }
        return device.create(
            "vkCreateComputePipelines",
            made -> vkCreateComputePipelines(vk, VK_NULL_HANDLE, pipeline, null, made));
      } finally {
        vkDestroyShaderModule(vk, module, null);
      }
    } finally {
      MemoryUtil.memFree(code);
    }
  }

  /** Destroys the pipelines, which no work uses any more. */
  void destroy() {
    pipelines.values().forEach(each -> vkDestroyPipeline(device.handle(), each, null));
    pipelines.clear();
  }
}
