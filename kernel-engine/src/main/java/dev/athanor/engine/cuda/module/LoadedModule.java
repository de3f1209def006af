package dev.athanor.engine.cuda.module;

import static jcuda.driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES;
import static jcuda.driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
import static jcuda.driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_NUM_REGS;
import static jcuda.driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES;
import static jcuda.driver.CUresult.CUDA_SUCCESS;
import static jcuda.driver.JCudaDriver.cuFuncGetAttribute;
import static jcuda.driver.JCudaDriver.cuFuncSetAttribute;
import static jcuda.driver.JCudaDriver.cuModuleGetFunction;
import static jcuda.driver.JCudaDriver.cuOccupancyMaxActiveBlocksPerMultiprocessor;

import dev.athanor.engine.cuda.context.Context;
import dev.athanor.engine.cuda.driver.CudaError;
import dev.athanor.engine.cuda.driver.FunctionHandle;
import dev.athanor.engine.device.DeviceException;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;
import jcuda.driver.CUmodule;

/** A module in a context, with the functions looked up so far. Each function keeps it loaded. */
final class LoadedModule {

  /** Every kernel may have this much shared memory; more needs an opt-in. */
  private static final int SHARED_WITHOUT_OPT_IN = 48 << 10;

  private final Context context;
  private final CUmodule handle;
  private final String log;
  private final boolean hasVariables;
  private final Map<String, Function> functions = new HashMap<>();

  /**
   * @param log the compiler's log; empty for code from a cache
   * @param hasVariables whether kernels may keep state in the module
   */
  LoadedModule(Context context, CUmodule handle, String log, boolean hasVariables) {
    this.context = context;
    this.handle = handle;
    this.log = log;
    this.hasVariables = hasVariables;
  }

  CUmodule handle() {
    return handle;
  }

  boolean hasVariables() {
    return hasVariables;
  }

  /**
   * Returns a function of the module.
   *
   * @param sharedOptIn maximum shared memory of a block
   * @param declaredLocalBytes local memory that the source declares: the rest is spilled
   * @param onFirst called when the function is looked up for the first time
   * @throws DeviceException.LoadFailed if the module has no such function
   */
  synchronized Function function(
      String name, int sharedOptIn, int declaredLocalBytes, Consumer<Function> onFirst) {
    var known = functions.get(name);
    if (known != null) {
      return known;
    }
    var function = new FunctionHandle();
    context.enter();
    int result = cuModuleGetFunction(function, handle, name);
    if (result != CUDA_SUCCESS && !CudaError.fatal(result)) {
      throw new DeviceException.LoadFailed(name, CudaError.describe(result));
    }
    context.check(result, "cuModuleGetFunction");
    var created = new Function(this, function, sharedOptIn, declaredLocalBytes);
    functions.put(name, created);
    onFirst.accept(created);
    return created;
  }

  /** The machine code of a kernel, shared by all loads of it. */
  static final class Function {

    /** Keeps the module loaded. */
    private final LoadedModule module;

    private final FunctionHandle handle;
    private final int registers;
    private final int localBytes;
    private final int spilledBytes;
    private final int sharedBytes;
    private final int dynamicSharedLimit;
    private volatile boolean limitRaised;

    /** Reads the attributes of a function; the caller has entered the context. */
    private Function(
        LoadedModule module, FunctionHandle handle, int sharedOptIn, int declaredLocalBytes) {
      this.module = module;
      this.handle = handle;
      registers = attribute(CU_FUNC_ATTRIBUTE_NUM_REGS);
      localBytes = attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
      spilledBytes = Math.max(0, localBytes - declaredLocalBytes);
      sharedBytes = attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
      dynamicSharedLimit = sharedOptIn - sharedBytes;
    }

    private int attribute(int attribute) {
      var value = new int[1];
      module.context.check(cuFuncGetAttribute(value, attribute, handle), "cuFuncGetAttribute");
      return value[0];
    }

    FunctionHandle handle() {
      return handle;
    }

    Context context() {
      return module.context;
    }

    String log() {
      return module.log;
    }

    int registers() {
      return registers;
    }

    int localBytes() {
      return localBytes;
    }

    int spilledBytes() {
      return spilledBytes;
    }

    /** See {@link CudaKernel#allowShared}. */
    void allowShared(int dynamicBytes) {
      if (!limitRaised && sharedBytes + dynamicBytes > SHARED_WITHOUT_OPT_IN) {
        module.context.enter();
        module.context.check(
            cuFuncSetAttribute(
                handle, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, dynamicSharedLimit),
            "cuFuncSetAttribute");
        limitRaised = true;
      }
    }

    /** See {@link CudaKernel#residentBlocks}. */
    int residentBlocks(int threads, int dynamicBytes) {
      var blocks = new int[1];
      module.context.enter();
      module.context.check(
          cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, handle, threads, dynamicBytes),
          "cuOccupancyMaxActiveBlocksPerMultiprocessor");
      return blocks[0];
    }
  }
}
