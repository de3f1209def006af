package dev.athanor.vulkan;

import static org.lwjgl.vulkan.KHRPortabilityEnumeration.VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
import static org.lwjgl.vulkan.KHRPortabilityEnumeration.VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME;
import static org.lwjgl.vulkan.VK13.VK_API_VERSION_1_3;
import static org.lwjgl.vulkan.VK13.VK_SUCCESS;
import static org.lwjgl.vulkan.VK13.vkCreateInstance;
import static org.lwjgl.vulkan.VK13.vkEnumerateInstanceExtensionProperties;
import static org.lwjgl.vulkan.VK13.vkEnumerateInstanceVersion;
import static org.lwjgl.vulkan.VK13.vkEnumeratePhysicalDevices;

import dev.athanor.engine.device.DeviceProvider.Absent;
import dev.athanor.engine.device.DeviceProvider.Present;
import dev.athanor.engine.device.DeviceProvider.Probe;
import dev.athanor.engine.natives.JarLibraries;
import java.util.ArrayList;
import java.util.List;
import org.lwjgl.system.Configuration;
import org.lwjgl.system.Library;
import org.lwjgl.system.MemoryStack;
import org.lwjgl.vulkan.VkApplicationInfo;
import org.lwjgl.vulkan.VkExtensionProperties;
import org.lwjgl.vulkan.VkInstance;
import org.lwjgl.vulkan.VkInstanceCreateInfo;
import org.lwjgl.vulkan.VkPhysicalDevice;

/** The Vulkan loader of this machine and the devices that meet the requirements. */
final class VulkanDriver {

  private VulkanDriver() {}

  private static final class Once {
    private static final Found FOUND = find();
  }

  private record Found(Probe probe, List<PhysicalDevice> devices) {
    Found(String reason) {
      this(new Absent(reason), List.of());
    }
  }

  /** Looks for a driver and its devices. The result of the first call is kept for the process. */
  static Probe probe() {
    return Once.FOUND.probe;
  }

  /** Returns the usable devices, in the order of {@link Present#devices}. */
  static List<PhysicalDevice> devices() {
    return Once.FOUND.devices;
  }

  private static Found find() {
    try {
      JarLibraries.load(() -> {
        Configuration.SHARED_LIBRARY_EXTRACT_PATH.set(System.getProperty("java.io.tmpdir"));
        Library.initialize();
      });
      return list();
    } catch (UnsatisfiedLinkError | ExceptionInInitializerError | NoClassDefFoundError e) {
      return new Found("this machine has no Vulkan loader (libvulkan.so.1)");
    } catch (IllegalStateException e) {
      return new Found(String.valueOf(e.getMessage()));
    }
  }

  private static Found list() {
    try (var stack = MemoryStack.stackPush()) {
      var version = stack.ints(0);
      check(vkEnumerateInstanceVersion(version), "vkEnumerateInstanceVersion");
      if (version.get(0) < VK_API_VERSION_1_3) {
        return new Found("the Vulkan loader of this machine is older than Vulkan 1.3");
      }
      var info =
          VkInstanceCreateInfo.calloc(stack)
              .sType$Default()
              .pApplicationInfo(
                  VkApplicationInfo.calloc(stack).sType$Default().apiVersion(VK_API_VERSION_1_3));
      if (hasPortability(stack)) {
        info.flags(VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR)
            .ppEnabledExtensionNames(
                stack.pointers(stack.UTF8(VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME)));
      }
      var pointer = stack.mallocPointer(1);
      check(vkCreateInstance(info, null, pointer), "vkCreateInstance");
      var instance = new VkInstance(pointer.get(0), info);
      var count = stack.ints(0);
      check(vkEnumeratePhysicalDevices(instance, count, null), "vkEnumeratePhysicalDevices");
      var handles = stack.mallocPointer(count.get(0));
      check(vkEnumeratePhysicalDevices(instance, count, handles), "vkEnumeratePhysicalDevices");
      var usable = new ArrayList<PhysicalDevice>();
      var refused = new ArrayList<String>();
      for (int i = 0; i < count.get(0); i++) {
        var device = PhysicalDevice.of(new VkPhysicalDevice(handles.get(i), instance));
        if (device.lacking().isEmpty()) {
          usable.add(device);
        } else {
          refused.add("%s lacks %s".formatted(device.name(), String.join(", ", device.lacking())));
        }
      }
      return found(usable, refused);
    }
  }

  /** Returns whether devices that are not quite Vulkan, such as Apple's, are listed on request. */
  private static boolean hasPortability(MemoryStack stack) {
    var count = stack.ints(0);
    vkEnumerateInstanceExtensionProperties((String) null, count, null);
    try (var all = VkExtensionProperties.calloc(count.get(0))) {
      vkEnumerateInstanceExtensionProperties((String) null, count, all);
      return all.stream()
          .anyMatch(each ->
              each.extensionNameString().equals(VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME));
    }
  }

  private static Found found(List<PhysicalDevice> usable, List<String> refused) {
    var lacks = String.join("; ", refused);
    if (usable.isEmpty()) {
      return new Found(
          refused.isEmpty() ? "Vulkan has no device" : "Vulkan has no usable device: " + lacks);
    }
    var names = String.join(", ", usable.stream().map(PhysicalDevice::name).toList());
    var summary =
        "Vulkan has %d usable device%s (%s)"
            .formatted(usable.size(), usable.size() == 1 ? "" : "s", names);
    return new Found(
        new Present(
            refused.isEmpty() ? summary : summary + "; " + lacks,
            usable.stream().map(PhysicalDevice::found).toList()),
        List.copyOf(usable));
  }

  private static void check(int result, String call) {
    if (result != VK_SUCCESS) {
      throw new IllegalStateException(
          "%s failed with %s".formatted(call, LogicalDevice.describe(result)));
    }
  }
}
