package dev.athanor.engine.cuda;

import static jcuda.driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR;
import static jcuda.driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR;
import static jcuda.driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK;
import static jcuda.driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
import static jcuda.driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
import static jcuda.driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
import static jcuda.driver.CUresult.CUDA_SUCCESS;
import static jcuda.driver.JCudaDriver.cuDeviceGet;
import static jcuda.driver.JCudaDriver.cuDeviceGetAttribute;
import static jcuda.driver.JCudaDriver.cuDeviceGetName;
import static jcuda.driver.JCudaDriver.cuDeviceGetPCIBusId;
import static jcuda.driver.JCudaDriver.cuDeviceTotalMem;

import dev.athanor.engine.cuda.context.Context;
import dev.athanor.engine.cuda.context.DeferredFrees;
import dev.athanor.engine.cuda.context.OpenStreams;
import dev.athanor.engine.cuda.driver.CudaDriver;
import dev.athanor.engine.cuda.driver.CudaDriver.Absent;
import dev.athanor.engine.cuda.driver.CudaDriver.Present;
import dev.athanor.engine.cuda.driver.CudaError;
import dev.athanor.engine.cuda.memory.MemoryPool;
import dev.athanor.engine.cuda.memory.PinnedMemory;
import dev.athanor.engine.cuda.module.CubinCache;
import dev.athanor.engine.cuda.module.Modules;
import dev.athanor.engine.cuda.stream.CudaGraph;
import dev.athanor.engine.cuda.stream.CudaStream;
import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.Graph;
import dev.athanor.engine.device.HostMemory;
import dev.athanor.engine.device.KernelImage;
import dev.athanor.engine.device.LoadedKernel;
import dev.athanor.engine.device.Stream;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Target;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import jcuda.driver.CUdevice;

/**
 * An NVIDIA GPU. All methods may be called on any thread, including virtual threads: each makes the
 * GPU's context current before it calls the driver. A kernel fault destroys the context: every
 * later call throws {@link DeviceException.Lost}, which names the kernels that ran.
 */
public final class CudaDevice implements Device {

  /** Length of 0000:00:00.0 with its terminating zero, rounded up. */
  private static final int BUS_ID_BYTES = 16;

  private final OpenStreams streams;
  private final Set<CudaGraph> graphs = ConcurrentHashMap.newKeySet();
  private final DeferredFrees deferredFrees;
  private final Context context;
  private final Capability capability;
  private final String busId;
  private final MemoryPool pool;
  private final PinnedMemory pinned;
  private final Modules modules;

  private CudaDevice(CUdevice device, Capability capability, String busId, Path cache) {
    this.capability = capability;
    this.busId = busId;
    streams = new OpenStreams();
    deferredFrees = new DeferredFrees(streams);
    context = new Context(capability.id(), device, streams::recentKernels);
    pool = new MemoryPool(context, streams, capability.memoryBytes());
    pinned = new PinnedMemory(context, deferredFrees);
    modules = new Modules(context, capability, new CubinCache(cache), deferredFrees);
  }

  /**
   * Opens a GPU. Machine code is cached in {@code $XDG_CACHE_HOME/athanor/cubin} or below {@code
   * ~/.cache}.
   *
   * @param ordinal index of the GPU, from 0
   * @throws DeviceException.Unavailable if the GPU cannot be used
   */
  public static CudaDevice open(int ordinal) {
    return open(ordinal, CubinCache.defaultDirectory());
  }

  /**
   * Opens a GPU.
   *
   * @param ordinal index of the GPU, from 0
   * @param cache directory of cached machine code; if it is not writable, nothing is cached
   * @throws DeviceException.Unavailable if the GPU cannot be used
   */
  public static CudaDevice open(int ordinal, Path cache) {
    return switch (CudaDriver.probe()) {
      case Absent(String reason) -> throw new DeviceException.Unavailable(reason);
      case Present(String version, int devices) -> {
        if (ordinal < 0 || ordinal >= devices) {
          throw new DeviceException.Unavailable(
              "no GPU %d: the driver has %d, counted from 0".formatted(ordinal, devices));
        }
        var device = new CUdevice();
        var capability = describe(ordinal, device, version);
        var busId = new String[1];
        check(cuDeviceGetPCIBusId(busId, BUS_ID_BYTES, device), ordinal);
        yield new CudaDevice(device, capability, busId[0], cache);
      }
    };
  }

  private static Capability describe(int ordinal, CUdevice device, String driver) {
    check(cuDeviceGet(device, ordinal), ordinal);
    var name = new byte[256];
    check(cuDeviceGetName(name, name.length, device), ordinal);
    var total = new long[1];
    check(cuDeviceTotalMem(total, device), ordinal);
    int major = attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, ordinal);
    int minor = attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, ordinal);
    return new Capability(
        "cuda:" + ordinal,
        new String(name, StandardCharsets.UTF_8).split("\0", 2)[0],
        // From 9.0 on, GPUs run architecture-specific code.
        new Target(10 * major + minor, major >= 9),
        driver,
        attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, ordinal),
        attribute(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, ordinal),
        attribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, ordinal),
        attribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, ordinal),
        total[0]);
  }

  private static int attribute(CUdevice device, int attribute, int ordinal) {
    var value = new int[1];
    check(cuDeviceGetAttribute(value, attribute, device), ordinal);
    return value[0];
  }

  private static void check(int result, int ordinal) {
    if (result != CUDA_SUCCESS) {
      throw new DeviceException.Unavailable(
          "cannot query cuda:%d: %s".formatted(ordinal, CudaError.describe(result)));
    }
  }

  Context context() {
    return context;
  }

  @Override
  public Capability capability() {
    return capability;
  }

  @Override
  public Optional<String> busId() {
    return Optional.of(busId);
  }

  @Override
  public Buffer allocate(long bytes) {
    return pool.allocate(bytes);
  }

  @Override
  public HostMemory allocateHost(long bytes) {
    return pinned.allocate(bytes);
  }

  @Override
  public Stream openStream() {
    var stream = new CudaStream(context, capability, streams);
    streams.add(stream);
    return stream;
  }

  @Override
  public Graph capture(Consumer<Stream> work) {
    return CudaGraph.capture(context, capability, deferredFrees, graphs, work);
  }

  @Override
  public LoadedKernel load(Module module, String kernel) {
    return modules.load(module, kernel);
  }

  @Override
  public LoadedKernel load(KernelImage image) {
    return modules.load(image);
  }

  @Override
  public MemoryUsage memory() {
    return pool.usage();
  }

  @Override
  public synchronized void close() {
    try {
      if (!context.isUnusable()) {
        streams.closeAll(context);
        List.copyOf(graphs).forEach(CudaGraph::close);
        pinned.close();
        deferredFrees.finish();
        modules.close();
        pool.close();
      }
    } finally {
      context.close();
    }
  }
}
