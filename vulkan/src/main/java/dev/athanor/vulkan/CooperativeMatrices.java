package dev.athanor.vulkan;

import static org.lwjgl.vulkan.KHRCooperativeMatrix.*;
import static org.lwjgl.vulkan.VK13.*;

import dev.athanor.engine.ptx.MatrixShape;
import dev.athanor.engine.ptx.Type;
import dev.athanor.vulkan.spirv.CooperativeProduct;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import org.lwjgl.system.MemoryStack;
import org.lwjgl.vulkan.VkCooperativeMatrixPropertiesKHR;
import org.lwjgl.vulkan.VkPhysicalDevice;
import org.lwjgl.vulkan.VkPhysicalDeviceCooperativeMatrixPropertiesKHR;
import org.lwjgl.vulkan.VkPhysicalDeviceProperties2;

/** The products of cooperative matrices that a device has. */
final class CooperativeMatrices {

  private CooperativeMatrices() {}

  /** Returns the products for the translator, on a device with the extension. */
  static Set<CooperativeProduct> products(VkPhysicalDevice handle, MemoryStack stack) {
    var matrices = VkPhysicalDeviceCooperativeMatrixPropertiesKHR.calloc(stack).sType$Default();
    vkGetPhysicalDeviceProperties2(
        handle, VkPhysicalDeviceProperties2.calloc(stack).sType$Default().pNext(matrices));
    var found = new HashSet<CooperativeProduct>();
    if ((matrices.cooperativeMatrixSupportedStages() & VK_SHADER_STAGE_COMPUTE_BIT) == 0) {
      return found;
    }
    var count = stack.ints(0);
    vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR(handle, count, null);
    try (var all = VkCooperativeMatrixPropertiesKHR.calloc(count.get(0))) {
      all.forEach(VkCooperativeMatrixPropertiesKHR::sType$Default);
      vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR(handle, count, all);
      all.forEach(each -> product(each).ifPresent(found::add));
    }
    return found;
  }

  /** Returns a product; empty for one that no kernel uses. */
  static Optional<CooperativeProduct> product(VkCooperativeMatrixPropertiesKHR given) {
    if (given.scope() != VK_SCOPE_SUBGROUP_KHR
        || given.saturatingAccumulation()
        || given.AType() != VK_COMPONENT_TYPE_FLOAT16_KHR
        || given.BType() != VK_COMPONENT_TYPE_FLOAT16_KHR) {
      return Optional.empty();
    }
    return type(given.CType())
        .flatMap(addend ->
            type(given.ResultType())
                .map(sum ->
                    new CooperativeProduct(
                        new MatrixShape(given.MSize(), given.NSize(), given.KSize()),
                        addend,
                        sum)));
  }

  private static Optional<Type> type(int component) {
    return switch (component) {
      case VK_COMPONENT_TYPE_FLOAT16_KHR -> Optional.of(Type.F16);
      case VK_COMPONENT_TYPE_FLOAT32_KHR -> Optional.of(Type.F32);
      default -> Optional.empty();
    };
  }
}
