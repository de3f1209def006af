package dev.athanor.vulkan;

import static org.lwjgl.vulkan.AMDShaderCoreProperties.VK_AMD_SHADER_CORE_PROPERTIES_EXTENSION_NAME;
import static org.lwjgl.vulkan.EXTPciBusInfo.VK_EXT_PCI_BUS_INFO_EXTENSION_NAME;
import static org.lwjgl.vulkan.KHRCooperativeMatrix.VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME;
import static org.lwjgl.vulkan.KHRPortabilitySubset.VK_KHR_PORTABILITY_SUBSET_EXTENSION_NAME;
import static org.lwjgl.vulkan.KHRWorkgroupMemoryExplicitLayout.VK_KHR_WORKGROUP_MEMORY_EXPLICIT_LAYOUT_EXTENSION_NAME;
import static org.lwjgl.vulkan.NVShaderSmBuiltins.VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME;
import static org.lwjgl.vulkan.VK13.*;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.DeviceProvider.Found;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Warps;
import dev.athanor.vulkan.spirv.ShaderFeatures;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.lwjgl.system.MemoryStack;
import org.lwjgl.vulkan.VkExtensionProperties;
import org.lwjgl.vulkan.VkPhysicalDevice;
import org.lwjgl.vulkan.VkPhysicalDeviceDriverProperties;
import org.lwjgl.vulkan.VkPhysicalDeviceMemoryProperties;
import org.lwjgl.vulkan.VkPhysicalDevicePCIBusInfoPropertiesEXT;
import org.lwjgl.vulkan.VkPhysicalDeviceProperties2;
import org.lwjgl.vulkan.VkPhysicalDeviceShaderCorePropertiesAMD;
import org.lwjgl.vulkan.VkPhysicalDeviceShaderSMBuiltinsPropertiesNV;
import org.lwjgl.vulkan.VkPhysicalDeviceVulkan11Properties;
import org.lwjgl.vulkan.VkPhysicalDeviceVulkan12Properties;
import org.lwjgl.vulkan.VkPhysicalDeviceVulkan13Properties;
import org.lwjgl.vulkan.VkQueueFamilyProperties;

/**
 * A device of the Vulkan loader and what this library needs to know of it.
 *
 * @param driver name and version of the driver
 * @param hardware whether it is a GPU, not a driver that runs on the CPU
 * @param lacking the required features that it lacks; others are set only if this is empty
 * @param maxAllocationBytes maximum size of one allocation
 * @param queueFamily family of queues for kernels
 * @param queues number of queues of the family
 * @param timestampBits number of valid bits of a timestamp
 * @param timestampNanos nanoseconds of a timestamp's unit
 * @param deviceMemory memory type of buffers
 * @param unifiedMemory whether the host reads and writes buffers directly
 * @param hostMemory memory type of host memory that the device accesses
 * @param maxGridX maximum number of blocks of a dispatch along x
 * @param extensions the extensions to enable
 */
record PhysicalDevice(
    VkPhysicalDevice handle,
    String name,
    String driver,
    boolean hardware,
    Optional<String> busId,
    List<String> lacking,
    ShaderFeatures features,
    int multiprocessors,
    int maxThreads,
    long memoryBytes,
    long maxAllocationBytes,
    int queueFamily,
    int queues,
    int timestampBits,
    double timestampNanos,
    int deviceMemory,
    boolean unifiedMemory,
    int hostMemory,
    int maxGridX,
    List<String> extensions) {

  private static final int SUBGROUP_OPERATIONS =
      VK_SUBGROUP_FEATURE_BASIC_BIT
          | VK_SUBGROUP_FEATURE_VOTE_BIT
          | VK_SUBGROUP_FEATURE_BALLOT_BIT
          | VK_SUBGROUP_FEATURE_SHUFFLE_BIT;

  private static final int HOST =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  private static final int CACHED_HOST = HOST | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;

  /** The multiprocessors of a GPU whose driver does not tell. */
  private static final int USUAL_MULTIPROCESSORS = 32;

  private static final int MAX_THREADS = 1024;

  /** Devices that are not quite Vulkan require that the extension that says so is enabled. */
  private static final List<String> ENABLED =
      List.of(
          VK_KHR_WORKGROUP_MEMORY_EXPLICIT_LAYOUT_EXTENSION_NAME,
          VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME,
          VK_KHR_PORTABILITY_SUBSET_EXTENSION_NAME);

  Found found() {
    return new Found(name, hardware, busId);
  }

  /** Returns the properties for planners; kernels are rewritten for the oldest target. */
  Capability capability(int number) {
    return new Capability(
        "vulkan:" + number,
        name,
        Target.of("sm_70"),
        driver,
        multiprocessors,
        maxThreads,
        features.sharedBytes(),
        features.sharedBytes(),
        memoryBytes,
        features.capability());
  }

  static PhysicalDevice of(VkPhysicalDevice handle) {
    try (var stack = MemoryStack.stackPush()) {
      return of(handle, stack);
    }
  }

  private static PhysicalDevice of(VkPhysicalDevice handle, MemoryStack stack) {
    var extensions = extensions(handle, stack);
    var properties = VkPhysicalDeviceProperties2.calloc(stack).sType$Default();
    var of11 = VkPhysicalDeviceVulkan11Properties.calloc(stack).sType$Default();
    var of12 = VkPhysicalDeviceVulkan12Properties.calloc(stack).sType$Default();
    var of13 = VkPhysicalDeviceVulkan13Properties.calloc(stack).sType$Default();
    var driver = VkPhysicalDeviceDriverProperties.calloc(stack).sType$Default();
    var bus = VkPhysicalDevicePCIBusInfoPropertiesEXT.calloc(stack).sType$Default();
    var nvidia = VkPhysicalDeviceShaderSMBuiltinsPropertiesNV.calloc(stack).sType$Default();
    var amd = VkPhysicalDeviceShaderCorePropertiesAMD.calloc(stack).sType$Default();
    vkGetPhysicalDeviceProperties2(handle, properties);
    var general = properties.properties();
    if (general.apiVersion() < VK_API_VERSION_1_3) {
      return lacking(handle, general.deviceNameString(), List.of("Vulkan 1.3"));
    }
    properties.pNext(of11).pNext(of12).pNext(of13).pNext(driver);
    if (extensions.contains(VK_EXT_PCI_BUS_INFO_EXTENSION_NAME)) {
      properties.pNext(bus);
    }
    if (extensions.contains(VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME)) {
      properties.pNext(nvidia);
    }
    if (extensions.contains(VK_AMD_SHADER_CORE_PROPERTIES_EXTENSION_NAME)) {
      properties.pNext(amd);
    }
    vkGetPhysicalDeviceProperties2(handle, properties);
    var supported = new SupportedFeatures(handle, extensions, stack);
    var lacking = new ArrayList<>(supported.lacking());
    if (!of12.shaderSignedZeroInfNanPreserveFloat32()) {
      lacking.add("shaderSignedZeroInfNanPreserveFloat32");
    }
    var families = families(handle, stack);
    int family = family(families);
    if (family < 0) {
      lacking.add("a queue for kernels with timestamps");
    }
    if (!lacking.isEmpty()) {
      return lacking(handle, general.deviceNameString(), lacking);
    }
    var memory = VkPhysicalDeviceMemoryProperties.calloc(stack);
    vkGetPhysicalDeviceMemoryProperties(handle, memory);
    var limits = general.limits();
    boolean subgroups =
        supported.subgroupSizes()
            && of13.minSubgroupSize() <= Warps.SIZE
            && of13.maxSubgroupSize() >= Warps.SIZE
            && (of13.requiredSubgroupSizeStages() & VK_SHADER_STAGE_COMPUTE_BIT) != 0
            && (of11.subgroupSupportedOperations() & SUBGROUP_OPERATIONS) == SUBGROUP_OPERATIONS;
    int threads =
        Math.min(
            MAX_THREADS,
            Math.min(limits.maxComputeWorkGroupInvocations(), limits.maxComputeWorkGroupSize(0)));
    if (subgroups) {
      threads = (int) Math.min(threads, (long) Warps.SIZE * of13.maxComputeWorkgroupSubgroups());
    }
    boolean hardware = general.deviceType() != VK_PHYSICAL_DEVICE_TYPE_CPU;
    boolean discrete = general.deviceType() == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
    int unified = memoryType(memory, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | CACHED_HOST);
    boolean isUnified = !discrete && unified >= 0;
    int local = isUnified ? unified : memoryType(memory, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
    int host = memoryType(memory, CACHED_HOST);
    return new PhysicalDevice(
        handle,
        general.deviceNameString(),
        (driver.driverNameString() + " " + driver.driverInfoString()).strip(),
        hardware,
        extensions.contains(VK_EXT_PCI_BUS_INFO_EXTENSION_NAME)
            ? Optional.of(
                "%04X:%02X:%02X.%d"
                    .formatted(bus.pciDomain(), bus.pciBus(), bus.pciDevice(), bus.pciFunction()))
            : Optional.empty(),
        List.of(),
        supported.features(
            subgroups,
            hardware,
            of12.shaderDenormPreserveFloat32(),
            subgroups && supported.cooperativeMatrices()
                ? CooperativeMatrices.products(handle, stack)
                : Set.of(),
            limits.maxComputeSharedMemorySize()),
        multiprocessors(hardware, nvidia, amd),
        threads,
        memory.memoryHeaps(memory.memoryTypes(local).heapIndex()).size(),
        of11.maxMemoryAllocationSize(),
        family,
        families.get(family).queueCount(),
        families.get(family).timestampValidBits(),
        limits.timestampPeriod(),
        local,
        isUnified,
        host >= 0 ? host : memoryType(memory, HOST),
        (int)
            Math.min(Integer.MAX_VALUE, Integer.toUnsignedLong(limits.maxComputeWorkGroupCount(0))),
        ENABLED.stream().filter(extensions::contains).toList());
  }

  private static PhysicalDevice lacking(
      VkPhysicalDevice handle, String name, List<String> lacking) {
    var none =
        new ShaderFeatures(
            false, false, false, false, false, false, false, false, false, Set.of(), 0);
    return new PhysicalDevice(
        handle,
        name,
        "",
        false,
        Optional.empty(),
        lacking,
        none,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        false,
        0,
        0,
        List.of());
  }

  private static int multiprocessors(
      boolean hardware,
      VkPhysicalDeviceShaderSMBuiltinsPropertiesNV nvidia,
      VkPhysicalDeviceShaderCorePropertiesAMD amd) {
    if (!hardware) {
      return Runtime.getRuntime().availableProcessors();
    }
    int units =
        amd.shaderEngineCount()
            * amd.shaderArraysPerEngineCount()
            * amd.computeUnitsPerShaderArray();
    return nvidia.shaderSMCount() > 0
        ? nvidia.shaderSMCount()
        : units > 0 ? units : USUAL_MULTIPROCESSORS;
  }

  private static Set<String> extensions(VkPhysicalDevice handle, MemoryStack stack) {
    var names = new HashSet<String>();
    var count = stack.ints(0);
    vkEnumerateDeviceExtensionProperties(handle, (String) null, count, null);
    try (var all = VkExtensionProperties.calloc(count.get(0))) {
      vkEnumerateDeviceExtensionProperties(handle, (String) null, count, all);
      all.forEach(each -> names.add(each.extensionNameString()));
    }
    return names;
  }

  private static VkQueueFamilyProperties.Buffer families(
      VkPhysicalDevice handle, MemoryStack stack) {
    var count = stack.ints(0);
    vkGetPhysicalDeviceQueueFamilyProperties(handle, count, null);
    var families = VkQueueFamilyProperties.calloc(count.get(0), stack);
    vkGetPhysicalDeviceQueueFamilyProperties(handle, count, families);
    return families;
  }

  /** Returns the first family for kernels, if possible one that does not draw; -1 if none. */
  private static int family(VkQueueFamilyProperties.Buffer families) {
    int found = -1;
    for (int i = 0; i < families.capacity(); i++) {
      int flags = families.get(i).queueFlags();
      if ((flags & VK_QUEUE_COMPUTE_BIT) != 0 && families.get(i).timestampValidBits() > 0) {
        if ((flags & VK_QUEUE_GRAPHICS_BIT) == 0) {
          return i;
        }
        found = found < 0 ? i : found;
      }
    }
    return found;
  }

  /** Returns the first memory type with some properties; -1 if none has them. */
  private static int memoryType(VkPhysicalDeviceMemoryProperties memory, int properties) {
    for (int i = 0; i < memory.memoryTypeCount(); i++) {
      if ((memory.memoryTypes(i).propertyFlags() & properties) == properties) {
        return i;
      }
    }
    return -1;
  }
}
