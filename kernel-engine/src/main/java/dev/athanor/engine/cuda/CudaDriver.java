package dev.athanor.engine.cuda;

import static jcuda.driver.CUresult.CUDA_SUCCESS;
import static jcuda.driver.JCudaDriver.cuDeviceGetCount;
import static jcuda.driver.JCudaDriver.cuDriverGetVersion;
import static jcuda.driver.JCudaDriver.cuInit;

import dev.athanor.engine.natives.JarLibraries;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.SymbolLookup;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import jcuda.driver.JCudaDriver;

/** Whether this process can reach NVIDIA GPUs, and how many. */
public final class CudaDriver {

  static final String LIBRARY = "libcuda.so.1";

  /** CUDA 11.4, the first whose compiler reads PTX 7.4, the oldest that this engine writes. */
  private static final int OLDEST = 11_040;

  /**
   * The driver functions that this package calls, under the names that the library has them. JCuda
   * binds each at its first call, and a missing one would end the process.
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

  /** What {@link #probe} found. */
  public sealed interface Probe {}

  /**
   * A driver that answers.
   *
   * @param version its release where it says so, and the CUDA version that it knows
   * @param devices how many GPUs it has, at least 1
   */
  public record Present(String version, int devices) implements Probe {}

  /**
   * No GPU can be used.
   *
   * @param reason one sentence that says why
   */
  public record Absent(String reason) implements Probe {}

  /** Looks for a driver and its GPUs; the answer of the first call stands for the process. */
  public static Probe probe() {
    return Once.FOUND;
  }

  private static final class Once {
    static final Probe FOUND = look();
  }

  // Looking a library up is native access, which the launcher enables.
  @SuppressWarnings("restricted")
  private static Probe look() {
    SymbolLookup library;
    try {
      library = SymbolLookup.libraryLookup(LIBRARY, Arena.global());
    } catch (IllegalArgumentException e) {
      return new Absent(LIBRARY + " was not found, so there is no NVIDIA driver on this machine");
    } catch (IllegalCallerException e) {
      return new Absent(
          "native access is denied to this program; start java with"
              + " --enable-native-access=ALL-UNNAMED");
    }
    var missing = FUNCTIONS.stream().filter(f -> library.find(f).isEmpty()).findFirst();
    if (missing.isPresent()) {
      return new Absent(
          "the NVIDIA driver is too old: it lacks %s; one that knows CUDA 11.4 or later is needed"
              .formatted(missing.get()));
    }
    try {
      JarLibraries.load(() -> JCudaDriver.setExceptionsEnabled(false)); // codes are checked here
    } catch (LinkageError e) {
      // Its message holds two stack traces.
      return new Absent(
          "JCuda's native library could not be loaded on %s %s, though %s is there"
              .formatted(System.getProperty("os.name"), System.getProperty("os.arch"), LIBRARY));
    } catch (UncheckedIOException e) {
      return new Absent("JCuda's native library could not be loaded: " + e.getMessage());
    }
    return ask();
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
          "the NVIDIA driver could not be initialised: " + CudaError.describe(result));
    }
    if (version[0] < OLDEST) {
      return new Absent(
          "the NVIDIA driver is too old: it knows CUDA %s, 11.4 or later is needed"
              .formatted(text(version[0])));
    }
    if (count[0] == 0) {
      return new Absent("the NVIDIA driver answers, but it has no GPU");
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
      return Optional.empty(); // not shown in this container
    }
  }
}
