package dev.athanor.vulkan;

import static org.lwjgl.vulkan.KHRCooperativeMatrix.VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME;
import static org.lwjgl.vulkan.KHRWorkgroupMemoryExplicitLayout.VK_KHR_WORKGROUP_MEMORY_EXPLICIT_LAYOUT_EXTENSION_NAME;
import static org.lwjgl.vulkan.VK13.vkGetPhysicalDeviceFeatures2;

import dev.athanor.vulkan.spirv.CooperativeProduct;
import dev.athanor.vulkan.spirv.ShaderFeatures;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.lwjgl.system.MemoryStack;
import org.lwjgl.vulkan.VkPhysicalDevice;
import org.lwjgl.vulkan.VkPhysicalDeviceCooperativeMatrixFeaturesKHR;
import org.lwjgl.vulkan.VkPhysicalDeviceFeatures2;
import org.lwjgl.vulkan.VkPhysicalDeviceVulkan11Features;
import org.lwjgl.vulkan.VkPhysicalDeviceVulkan12Features;
import org.lwjgl.vulkan.VkPhysicalDeviceVulkan13Features;
import org.lwjgl.vulkan.VkPhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR;

/** The features that a device supports. All of them are enabled but those that cost time. */
final class SupportedFeatures {

  private final VkPhysicalDeviceFeatures2 all;
  private final VkPhysicalDeviceVulkan11Features of11;
  private final VkPhysicalDeviceVulkan12Features of12;
  private final VkPhysicalDeviceVulkan13Features of13;
  private final VkPhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR layouts;
  private final VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrices;

  /**
   * @param extensions the device's extensions
   * @param stack memory of the structures
   */
  SupportedFeatures(VkPhysicalDevice device, Collection<String> extensions, MemoryStack stack) {
    all = VkPhysicalDeviceFeatures2.calloc(stack).sType$Default();
    of11 = VkPhysicalDeviceVulkan11Features.calloc(stack).sType$Default();
    of12 = VkPhysicalDeviceVulkan12Features.calloc(stack).sType$Default();
    of13 = VkPhysicalDeviceVulkan13Features.calloc(stack).sType$Default();
    layouts =
        VkPhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR.calloc(stack).sType$Default();
    all.pNext(of11).pNext(of12).pNext(of13);
    matrices = VkPhysicalDeviceCooperativeMatrixFeaturesKHR.calloc(stack).sType$Default();
    if (extensions.contains(VK_KHR_WORKGROUP_MEMORY_EXPLICIT_LAYOUT_EXTENSION_NAME)) {
      all.pNext(layouts);
    }
    if (extensions.contains(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME)) {
      all.pNext(matrices);
    }
    vkGetPhysicalDeviceFeatures2(device, all);
    all.features().robustBufferAccess(false);
    of11.protectedMemory(false);
    of12.bufferDeviceAddressCaptureReplay(false);
    of13.robustImageAccess(false);
    matrices.cooperativeMatrixRobustBufferAccess(false);
  }

  /** Returns the features to enable. */
  VkPhysicalDeviceFeatures2 enabled() {
    return all;
  }

  /** Returns the required features that are not supported. */
  List<String> lacking() {
    var required = new LinkedHashMap<String, Boolean>();
    required.put("shaderInt64", all.features().shaderInt64());
    required.put("storageBuffer16BitAccess", of11.storageBuffer16BitAccess());
    required.put("storageBuffer8BitAccess", of12.storageBuffer8BitAccess());
    required.put("scalarBlockLayout", of12.scalarBlockLayout());
    required.put("bufferDeviceAddress", of12.bufferDeviceAddress());
    required.put("timelineSemaphore", of12.timelineSemaphore());
    required.put("synchronization2", of13.synchronization2());
    return required.entrySet().stream()
        .filter(each -> !each.getValue())
        .map(Map.Entry::getKey)
        .toList();
  }

  boolean subgroupSizes() {
    return of13.subgroupSizeControl() && of13.computeFullSubgroups();
  }

  /** Returns whether shaders can use cooperative matrices of f16, in Vulkan's memory model. */
  boolean cooperativeMatrices() {
    return matrices.cooperativeMatrix()
        && of12.vulkanMemoryModel()
        && of12.vulkanMemoryModelDeviceScope()
        && of12.shaderFloat16();
  }

  /**
   * Returns the features for the translator.
   *
   * @param hardware whether the device is a GPU; CPU drivers do not fuse multiply-adds
   * @param subnormals whether shaders can keep subnormal f32
   */
  ShaderFeatures features(
      boolean subgroups,
      boolean hardware,
      boolean subnormals,
      Set<CooperativeProduct> products,
      int sharedBytes) {
    return new ShaderFeatures(
        subgroups,
        of12.shaderInt8(),
        all.features().shaderInt16(),
        of12.shaderFloat16(),
        all.features().shaderFloat64(),
        of12.shaderBufferInt64Atomics(),
        layouts.workgroupMemoryExplicitLayout()
            && layouts.workgroupMemoryExplicitLayout8BitAccess()
            && layouts.workgroupMemoryExplicitLayout16BitAccess(),
        hardware,
        subnormals,
        products,
        sharedBytes);
  }
}
