package dev.athanor.engine.cuda.driver;

import static jcuda.driver.CUresult.*;

import java.util.Set;
import jcuda.driver.CUresult;
import jcuda.driver.JCudaDriver;

/** Classifies and describes the driver's result codes. */
public final class CudaError {

  /**
   * The sticky errors: every later call in the context returns the same code (CUDA driver API, type
   * CUresult, "the process must be terminated and relaunched"), or the device has fallen off the
   * bus.
   */
  private static final Set<Integer> FATAL =
      Set.of(
          CUDA_ERROR_DEINITIALIZED,
          CUDA_ERROR_DEVICE_UNAVAILABLE,
          CUDA_ERROR_ECC_UNCORRECTABLE,
          CUDA_ERROR_NVLINK_UNCORRECTABLE,
          226, // CUDA_ERROR_CONTAINED, newer than JCuda
          CUDA_ERROR_ILLEGAL_ADDRESS,
          CUDA_ERROR_LAUNCH_TIMEOUT,
          CUDA_ERROR_CONTEXT_IS_DESTROYED,
          CUDA_ERROR_ASSERT,
          CUDA_ERROR_HARDWARE_STACK_ERROR,
          CUDA_ERROR_ILLEGAL_INSTRUCTION,
          CUDA_ERROR_MISALIGNED_ADDRESS,
          CUDA_ERROR_INVALID_ADDRESS_SPACE,
          CUDA_ERROR_INVALID_PC,
          CUDA_ERROR_LAUNCH_FAILED,
          721, // CUDA_ERROR_TENSOR_MEMORY_LEAK, newer than JCuda
          CUDA_ERROR_MPS_CLIENT_TERMINATED,
          CUDA_ERROR_EXTERNAL_DEVICE,
          CUDA_ERROR_UNKNOWN);

  private CudaError() {}

  /** Returns whether an error destroys the context. */
  public static boolean fatal(int result) {
    return FATAL.contains(result);
  }

  /** Returns whether an error rejects only the launch and leaves the context usable. */
  public static boolean rejectsLaunch(int result) {
    return result != CUDA_SUCCESS && result != CUDA_ERROR_OUT_OF_MEMORY && !fatal(result);
  }

  /**
   * Returns CUDA's name and description: {@code CUDA_ERROR_NO_DEVICE (no CUDA-capable device is
   * detected)}.
   */
  public static String describe(int result) {
    var name = new String[1];
    var text = new String[1];
    if (JCudaDriver.cuGetErrorName(result, name) != CUDA_SUCCESS
        || JCudaDriver.cuGetErrorString(result, text) != CUDA_SUCCESS) {
      return CUresult.stringFor(result); // the driver is older than the error code
    }
    return name[0] + " (" + text[0] + ")";
  }
}
