package dev.athanor.engine.cuda;

import static jcuda.driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES;
import static jcuda.driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
import static jcuda.driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_NUM_REGS;
import static jcuda.driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES;
import static jcuda.driver.JCudaDriver.cuFuncGetAttribute;
import static jcuda.driver.JCudaDriver.cuFuncSetAttribute;
import static jcuda.driver.JCudaDriver.cuOccupancyMaxActiveBlocksPerMultiprocessor;

import dev.athanor.engine.device.LoadedKernel;
import dev.athanor.engine.ptx.Kernel;

/** A kernel that a GPU holds ready. */
public final class CudaKernel implements LoadedKernel {

  private final Kernel kernel;
  private final Origin origin;
  private final Code code;

  CudaKernel(Kernel kernel, Origin origin, Code code) {
    this.kernel = kernel;
    this.origin = origin;
    this.code = code;
  }

  /** The machine code of a kernel, shared by all that load it. */
  static final class Code {
    private final Context context;

    /** Referred to, so that the module stays loaded. */
    @SuppressWarnings("UnusedVariable")
    private final Modules.Unit unit;

    private final FunctionHandle function;
    private final int registers;
    private final int localBytes;
    private final int spilledBytes;
    private final int sharedBytes;
    private final int dynamicSharedLimit;
    private final String log;
    private volatile boolean raised;

    /**
     * Reads the attributes of a function; called in the context.
     *
     * @param declaredLocalBytes local memory that its source asks for: all beyond it is spilled
     */
    Code(
        Context context,
        Modules.Unit unit,
        FunctionHandle function,
        int sharedOptIn,
        int declaredLocalBytes,
        String log) {
      this.context = context;
      this.unit = unit;
      this.function = function;
      this.log = log;
      registers = attribute(CU_FUNC_ATTRIBUTE_NUM_REGS);
      localBytes = attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
      spilledBytes = Math.max(0, localBytes - declaredLocalBytes);
      sharedBytes = attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
      dynamicSharedLimit = sharedOptIn - sharedBytes;
    }

    int spilledBytes() {
      return spilledBytes;
    }

    private int attribute(int attribute) {
      var value = new int[1];
      context.check(cuFuncGetAttribute(value, attribute, function), "cuFuncGetAttribute");
      return value[0];
    }
  }

  @Override
  public Kernel kernel() {
    return kernel;
  }

  @Override
  public Origin origin() {
    return origin;
  }

  @Override
  public int registers() {
    return code.registers;
  }

  /** The bytes of local memory of a thread: its stack, and what did not fit into registers. */
  public int localBytes() {
    return code.localBytes;
  }

  @Override
  public int spilledBytes() {
    return code.spilledBytes;
  }

  /** What the driver's compiler said; empty where the code came from a cache. */
  public String log() {
    return code.log;
  }

  String name() {
    return kernel.name();
  }

  FunctionHandle function() {
    return code.function;
  }

  /**
   * Lets the kernel have as much dynamic shared memory as the GPU allows, before the first launch
   * that needs more than the 48 KiB that every kernel may have. It is a limit only: what a block
   * occupies is what its launch says.
   */
  void allowShared(int dynamicBytes) {
    if (!code.raised && code.sharedBytes + dynamicBytes > 48 << 10) {
      code.context.enter();
      code.context.check(
          cuFuncSetAttribute(
              code.function,
              CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
              code.dynamicSharedLimit),
          "cuFuncSetAttribute");
      code.raised = true;
    }
  }

  /** How many blocks a multiprocessor holds at once. */
  int residentBlocks(int threads, int dynamicBytes) {
    var blocks = new int[1];
    code.context.enter();
    code.context.check(
        cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, code.function, threads, dynamicBytes),
        "cuOccupancyMaxActiveBlocksPerMultiprocessor");
    return blocks[0];
  }

  /** The kernel as one of this context. */
  static CudaKernel of(Context context, LoadedKernel kernel) {
    if (!(kernel instanceof CudaKernel ours) || ours.code.context != context) {
      throw new IllegalArgumentException(
          "kernel %s was not loaded by %s".formatted(kernel.kernel().name(), context.id()));
    }
    return ours;
  }
}
