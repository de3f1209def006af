package dev.athanor.engine.cuda.driver;

import static jcuda.driver.CUresult.CUDA_SUCCESS;
import static jcuda.driver.JCudaDriver.cuDeviceGetCount;
import static jcuda.driver.JCudaDriver.cuDriverGetVersion;
import static jcuda.driver.JCudaDriver.cuInit;

import dev.athanor.engine.natives.JarLibraries;
import dev.athanor.engine.natives.Platform;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import jcuda.driver.JCudaDriver;

/** Finds the NVIDIA driver of this machine and the functions that it exports. */
public final class CudaDriver {

  /** The name under which the dynamic linker finds the driver. */
  public static final String LIBRARY = Platform.CURRENT.isWindows() ? "nvcuda.dll" : "libcuda.so.1";

  /** CUDA 11.4, the first to compile PTX 7.4, the oldest version that this engine writes. */
  private static final int OLDEST = 11_040;

  /**
   * The driver functions that the engine calls, by their exported names. JCuda binds each at its
   * first call, and a missing one would abort the process.
   */
  private static final List<String> FUNCTIONS =
      List.of(
          "cuInit",
          "cuDriverGetVersion",
          "cuGetErrorName",
          "cuGetErrorString",
          "cuDeviceGet",
          "cuDeviceGetCount",
          "cuDeviceGetName",
          "cuDeviceGetPCIBusId",
          "cuDeviceGetAttribute",
          "cuDeviceTotalMem_v2",
          "cuDevicePrimaryCtxRetain",
          "cuDevicePrimaryCtxRelease_v2",
          "cuCtxSetCurrent",
          "cuMemGetInfo_v2",
          "cuMemAlloc_v2",
          "cuMemFree_v2",
          "cuMemHostAlloc",
          "cuMemFreeHost",
          "cuMemcpyHtoDAsync_v2",
          "cuMemcpyDtoHAsync_v2",
          "cuMemcpyDtoDAsync_v2",
          "cuMemsetD8Async",
          "cuStreamCreate",
          "cuStreamDestroy_v2",
          "cuStreamSynchronize",
          "cuStreamWaitEvent",
          "cuEventCreate",
          "cuEventDestroy_v2",
          "cuEventRecord",
          "cuEventQuery",
          "cuEventSynchronize",
          "cuEventElapsedTime",
          "cuLinkCreate_v2",
          "cuLinkAddData_v2",
          "cuLinkComplete",
          "cuLinkDestroy",
          "cuModuleLoadDataEx",
          "cuModuleUnload",
          "cuModuleGetFunction",
          "cuFuncGetAttribute",
          "cuFuncSetAttribute",
          "cuLaunchKernel",
          "cuLaunchCooperativeKernel",
          "cuOccupancyMaxActiveBlocksPerMultiprocessor",
          "cuStreamBeginCapture_v2",
          "cuStreamEndCapture",
          "cuGraphInstantiateWithFlags",
          "cuGraphLaunch",
          "cuGraphExecDestroy",
          "cuGraphDestroy");

  private CudaDriver() {}

  /** The result of {@link #probe}. */
  public sealed interface Probe {}

  /**
   * A driver with at least one GPU.
   *
   * @param version the driver's release, if known, and the CUDA version that it supports
   * @param devices number of GPUs, at least 1
   */
  public record Present(String version, int devices) implements Probe {}

  /**
   * No GPU is usable.
   *
   * @param reason the reason, in one sentence
   */
  public record Absent(String reason) implements Probe {}

  /** Looks for a driver and its GPUs. The result of the first call is kept for the process. */
  public static Probe probe() {
    return Once.FOUND;
  }

  /** Returns a function of the driver; empty if the driver does not export it. */
  static Optional<MethodHandle> find(String name, MemoryLayout... parameters) {
    return NativeFunctions.bind(library(), name, parameters);
  }

  /** Returns a function that every supported driver exports. */
  public static MethodHandle require(String name, MemoryLayout... parameters) {
    return find(name, parameters)
        .orElseThrow(() -> new UnsatisfiedLinkError(LIBRARY + " does not export " + name));
  }

  @SuppressWarnings("restricted") // native access is enabled by the launcher
  private static SymbolLookup library() {
    return SymbolLookup.libraryLookup(LIBRARY, Arena.global());
  }

  private static final class Once {
    static final Probe FOUND = look();
  }

  private static Probe look() {
    return Platform.CURRENT
        .withoutJCuda()
        .<Probe>map(Absent::new)
        .orElseGet(CudaDriver::lookForLibrary);
  }

  private static Probe lookForLibrary() {
    SymbolLookup library;
    try {
      library = library();
    } catch (IllegalArgumentException e) {
      return new Absent(LIBRARY + " was not found: no NVIDIA driver is installed on this machine");
    } catch (IllegalCallerException e) {
      return new Absent(
          "native access is denied to this program; start java with"
              + " --enable-native-access=ALL-UNNAMED");
    }
    var missing = FUNCTIONS.stream().filter(f -> library.find(f).isEmpty()).findFirst();
    if (missing.isPresent()) {
      return new Absent(
          "the NVIDIA driver is too old: it lacks %s; install one that supports CUDA 11.4 or later"
              .formatted(missing.get()));
    }
    try {
      JarLibraries.load(() -> JCudaDriver.setExceptionsEnabled(false)); // result codes are checked
    } catch (LinkageError e) {
      return withoutJCuda(e);
    } catch (UncheckedIOException e) {
      return new Absent("JCuda's native library could not be loaded: " + e.getMessage());
    }
    return ask();
  }

  static Absent withoutJCuda(LinkageError e) {
    return new Absent(
        e instanceof NoClassDefFoundError
            ? LIBRARY + " was found, but JCuda is not on the class path; add org.jcuda:jcuda"
            // The error's message holds two stack traces.
            : "JCuda's native library could not be loaded on %s, although %s was found"
                .formatted(Platform.CURRENT, LIBRARY));
  }

  private static Probe ask() {
    int result = cuInit(0);
    var count = new int[1];
    if (result == CUDA_SUCCESS) {
      result = cuDeviceGetCount(count);
    }
    var version = new int[1];
    if (result == CUDA_SUCCESS) {
      result = cuDriverGetVersion(version);
    }
    if (result != CUDA_SUCCESS) {
      return new Absent(
          "the NVIDIA driver could not be initialized: " + CudaError.describe(result));
    }
    if (version[0] < OLDEST) {
      return new Absent(
          "the NVIDIA driver is too old: it supports CUDA %s; install one that supports CUDA 11.4 or later"
              .formatted(text(version[0])));
    }
    if (count[0] == 0) {
      return new Absent("the NVIDIA driver found no GPU");
    }
    var cuda = "CUDA " + text(version[0]);
    return new Present(release().map(r -> r + ", " + cuda).orElse(cuda), count[0]);
  }

  private static String text(int version) {
    return version / 1000 + "." + version % 1000 / 10;
  }

  /** The kernel module's release, such as 570.86.15; CUDA's own version is coarser. */
  private static Optional<String> release() {
    try {
      return Optional.of(Files.readString(Path.of("/sys/module/nvidia/version")).strip());
    } catch (IOException e) {
      return Optional.empty(); // the container hides it, or this is Windows
    }
  }
}
