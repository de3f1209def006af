package dev.athanor.vulkan;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.DeviceProvider.Absent;
import dev.athanor.engine.device.DeviceProvider.Present;
import dev.athanor.engine.device.Graph;
import dev.athanor.engine.device.HostMemory;
import dev.athanor.engine.device.LoadedKernel;
import dev.athanor.engine.device.LoadedKernel.Origin;
import dev.athanor.engine.device.Stream;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Variable;
import dev.athanor.engine.ptx.check.Inliner;
import dev.athanor.engine.ptx.check.Verifier;
import dev.athanor.engine.ptx.legal.Legalizer;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/**
 * A Vulkan device. Kernels are rewritten for Volta, the oldest target, and translated to SPIR-V at
 * the first launch with a shape of blocks. Accesses to memory are not checked.
 */
public final class VulkanDevice implements Device {

  private final LogicalDevice device;
  private final Capability capability;
  private final PendingWork pending = new PendingWork();
  private final Set<VulkanGraph> graphs = ConcurrentHashMap.newKeySet();
  private final Map<Name, VulkanKernel> kernels = new ConcurrentHashMap<>();
  private final BufferPool buffers;
  private final HostRegions hostRegions;
  private final Commands commands;

  private record Name(Module module, String kernel) {}

  private VulkanDevice(LogicalDevice device, Capability capability) {
    this.device = device;
    this.capability = capability;
    buffers = new BufferPool(device, pending);
    hostRegions = new HostRegions(device, pending);
    commands = new Commands(device, capability);
  }

  /**
   * Opens a device.
   *
   * @param number index of the device among the usable ones, from 0
   * @throws DeviceException.Unavailable if the device cannot be used
   */
  public static VulkanDevice open(int number) {
    return open(number, true);
  }

  /**
   * Opens a device.
   *
   * @param direct whether the host reads and writes buffers directly where memory is unified
   */
  static VulkanDevice open(int number, boolean direct) {
    return switch (VulkanDriver.probe()) {
      case Absent(String reason) -> throw new DeviceException.Unavailable(reason);
      case Present(String summary, var found) -> {
        if (number < 0 || number >= found.size()) {
          throw new DeviceException.Unavailable(
              "no device vulkan:%d: %s, counted from 0".formatted(number, summary));
        }
        var physical = VulkanDriver.devices().get(number);
        var capability = physical.capability(number);
        yield new VulkanDevice(
            LogicalDevice.open(capability.id(), physical, direct && physical.unifiedMemory()),
            capability);
      }
    };
  }

  @Override
  public Capability capability() {
    return capability;
  }

  @Override
  public Optional<String> busId() {
    return device.physical().busId();
  }

  @Override
  public Buffer allocate(long bytes) {
    return buffers.allocate(bytes);
  }

  @Override
  public HostMemory allocateHost(long bytes) {
    return hostRegions.allocate(bytes);
  }

  @Override
  public Stream openStream() {
    var stream = new VulkanStream(commands, pending, hostRegions);
    pending.add(stream);
    return stream;
  }

  @Override
  public Graph capture(Consumer<Stream> work) {
    return VulkanGraph.capture(commands, pending, graphs, work);
  }

  @Override
  public LoadedKernel load(Module module, String kernel) {
    device.requireUsable();
    var name = new Name(module, kernel);
    var known = kernels.get(name);
    if (known != null) {
      return new VulkanKernel.Loaded(known, Origin.HIT);
    }
    var made = compile(module, kernel);
    var other = kernels.putIfAbsent(name, made);
    return other == null
        ? new VulkanKernel.Loaded(made, Origin.COMPILED)
        : new VulkanKernel.Loaded(other, Origin.HIT);
  }

  private VulkanKernel compile(Module given, String name) {
    var module = Legalizer.legalize(given, capability.target());
    var kernel =
        module
            .kernel(name)
            .orElseThrow(() ->
                new DeviceException.LoadFailed(
                    name,
                    "the module has "
                        + module.kernels().stream()
                            .map(Kernel::name)
                            .collect(Collectors.joining(", "))));
    if (!capability.target().canRun(module.target())) {
      throw new DeviceException.LoadFailed(
          name, "it is for %s, the device is %s".formatted(module.target(), capability.target()));
    }
    try {
      Verifier.verify(module);
      var inliner = new Inliner(module);
      var variables = inliner.variables();
      if (!variables.stream().allMatch(VulkanDevice::isSupported)) {
        throw new DeviceException.LoadFailed(
            name,
            "variables of a module are not supported on Vulkan devices, except constant numbers");
      }
      var constants = variables.stream().filter(each -> each.space() == Space.CONST).toList();
      return new VulkanKernel(device, kernel, inliner.kernel(name).withConstants(constants));
    } catch (IllegalArgumentException e) {
      var failed = new DeviceException.LoadFailed(name, String.valueOf(e.getMessage()));
      failed.initCause(e);
      throw failed;
    }
  }

  private static boolean isSupported(Variable variable) {
    return switch (variable.space()) {
      case SHARED -> true;
      case CONST ->
          variable.count() != Variable.UNSIZED
              && variable.initializers().stream().allMatch(each -> each.symbol().isEmpty());
      default -> false;
    };
  }

  @Override
  public MemoryUsage memory() {
    return buffers.usage();
  }

  @Override
  public synchronized void close() {
    if (device.isUnusable()) {
      hostRegions.close();
      device.close();
      return;
    }
    pending.closeStreams();
    List.copyOf(graphs).forEach(VulkanGraph::close);
    hostRegions.close();
    pending.finish();
    kernels.values().forEach(VulkanKernel::destroy);
    commands.free();
    buffers.close();
    device.close();
  }
}
