package dev.athanor.engine.cuda;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static jcuda.driver.JCudaDriver.cuDriverGetVersion;

import dev.athanor.engine.cuda.driver.NativeFunctions;
import dev.athanor.engine.cuda.memory.CudaBuffer;
import dev.athanor.engine.cuda.stream.CudaStream;
import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.Stream;
import dev.athanor.engine.ptx.Type;
import java.lang.foreign.Arena;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import org.jspecify.annotations.Nullable;

/**
 * NVIDIA's matrix multiplication, the baseline for our own. Matrices are row-major without padding.
 * cuBLAS reads them as column-major, that is transposed, and therefore computes {@code transpose(B)
 * * transpose(A)}, which is the transpose of {@code A * B}.
 */
public final class CuBlas implements AutoCloseable {

  /** NVIDIA's recommendation for Hopper (cuBLAS, cublasSetWorkspace); others need less. */
  private static final long WORKSPACE_BYTES = 32L << 20;

  private static final int TRANSPOSED = 1;
  private static final int NOT_TRANSPOSED = 0;
  private static final int COMPUTE_32F = 68;

  /** Without TF32 and without algorithmic changes. */
  private static final int COMPUTE_32F_PEDANTIC = 69;

  /** CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION: partial sums stay in 32 bits. */
  private static final int FULL_PRECISION_REDUCTION = 16;

  private static final int CHOOSE_ALGORITHM = -1;

  private final CudaDevice device;
  private final SymbolLookup library;
  private final MethodHandle setStream;
  private final MethodHandle setWorkspace;
  private final MethodHandle gemm;
  private final MethodHandle destroy;
  private final MemorySegment handle;
  private final Buffer workspace;
  private final String version;
  private final Arena arena = Arena.ofAuto();
  private final MemorySegment alpha = arena.allocate(JAVA_FLOAT);
  private final MemorySegment beta = arena.allocate(JAVA_FLOAT); // 0
  private @Nullable Stream current;

  /**
   * Opens the newest cuBLAS of this machine: from the dynamic linker's path, a toolkit below {@code
   * /usr/local}, or a Python package.
   *
   * @throws DeviceException.Unavailable if the machine has none
   */
  public static CuBlas open(CudaDevice device) {
    var driver = new int[1];
    device.context().enter();
    device.context().check(cuDriverGetVersion(driver), "cuDriverGetVersion");
    return new CuBlas(device, CuBlasLibrary.find(driver[0] / 1000));
  }

  private CuBlas(CudaDevice device, SymbolLookup library) {
    this.device = device;
    this.library = library;
    setStream = function("cublasSetStream_v2", ADDRESS, JAVA_LONG);
    setWorkspace = function("cublasSetWorkspace_v2", ADDRESS, JAVA_LONG, JAVA_LONG);
    destroy = function("cublasDestroy_v2", ADDRESS);
    gemm =
        function(
            "cublasGemmEx",
            ADDRESS, // handle
            JAVA_INT, // transpose a
            JAVA_INT, // transpose b
            JAVA_INT, // m
            JAVA_INT, // n
            JAVA_INT, // k
            ADDRESS, // alpha
            JAVA_LONG, // a
            JAVA_INT, // type
            JAVA_INT, // leading dimension
            JAVA_LONG, // b
            JAVA_INT,
            JAVA_INT,
            ADDRESS, // beta
            JAVA_LONG, // c
            JAVA_INT,
            JAVA_INT,
            JAVA_INT, // compute type
            JAVA_INT); // algorithm
    var context = device.context();
    workspace = device.allocate(WORKSPACE_BYTES);
    var created = arena.allocate(ADDRESS);
    context.enter();
    int status = NativeFunctions.call(function("cublasCreate_v2", ADDRESS), created);
    if (status != 0) {
      workspace.close();
      throw new DeviceException.Unavailable(
          "cannot initialize cuBLAS: cublasCreate failed with cublasStatus_t " + status);
    }
    handle = created.get(ADDRESS, 0);
    check(
        NativeFunctions.call(
            function("cublasSetMathMode", ADDRESS, JAVA_INT), handle, FULL_PRECISION_REDUCTION),
        "cublasSetMathMode");
    var number = arena.allocate(JAVA_INT);
    check(
        NativeFunctions.call(function("cublasGetVersion_v2", ADDRESS, ADDRESS), handle, number),
        "cublasGetVersion");
    int v = number.get(JAVA_INT, 0);
    version = v / 10_000 + "." + v / 100 % 100 + "." + v % 100;
  }

  /** Returns the library's version, such as 12.8.4. */
  public String version() {
    return version;
  }

  /**
   * Enqueues {@code C = alpha * op(A) * op(B)} with f32 accumulation; f32 inputs are multiplied in
   * full precision, without TF32.
   *
   * @param input the type of A and B: f32, f16 or bf16
   * @param output the type of C: f32 or the type of A and B
   * @param transposeA whether A is stored as k rows of m instead of m rows of k
   * @param transposeB whether B is stored as n rows of k instead of k rows of n
   * @throws IllegalArgumentException if a type is unsupported or a buffer is too small
   */
  public synchronized void gemm(
      Stream stream,
      Type input,
      Type output,
      boolean transposeA,
      boolean transposeB,
      int m,
      int n,
      int k,
      float alpha,
      Buffer a,
      Buffer b,
      Buffer c) {
    var context = device.context();
    var own = CudaStream.of(context, stream, "a product of cuBLAS");
    if (m < 1 || n < 1 || k < 1) {
      throw new IllegalArgumentException(
          "m, n and k must be at least 1, got %d, %d and %d".formatted(m, n, k));
    }
    int inputType = dataType(input);
    if (output != Type.F32 && output != input) {
      throw new IllegalArgumentException(
          "C must be f32, or %s like A and B, got %s".formatted(input.word(), output.word()));
    }
    int outputType = dataType(output);
    long addressA = CudaBuffer.range(context, a, 0, (long) m * k * input.bits() / 8);
    long addressB = CudaBuffer.range(context, b, 0, (long) k * n * input.bits() / 8);
    long addressC = CudaBuffer.range(context, c, 0, (long) m * n * output.bits() / 8);
    own.enterFor("cublasGemmEx");
    setStream(own);
    this.alpha.set(JAVA_FLOAT, 0, alpha);
    check(
        multiply(
            transposeB ? TRANSPOSED : NOT_TRANSPOSED,
            transposeA ? TRANSPOSED : NOT_TRANSPOSED,
            n,
            m,
            k,
            addressB,
            inputType,
            transposeB ? k : n,
            addressA,
            transposeA ? m : k,
            addressC,
            outputType,
            n,
            input == Type.F32 ? COMPUTE_32F_PEDANTIC : COMPUTE_32F),
        "cublasGemmEx");
    own.enqueued();
  }

  /** Calls cublasGemmEx, column-major: m, n, a and b are swapped relative to {@link #gemm}. */
  private int multiply(
      int transposeA,
      int transposeB,
      int m,
      int n,
      int k,
      long a,
      int inputType,
      int leadingA,
      long b,
      int leadingB,
      long c,
      int outputType,
      int leadingC,
      int compute) {
    try {
      return (int)
          gemm.invokeExact(
              handle,
              transposeA,
              transposeB,
              m,
              n,
              k,
              alpha,
              a,
              inputType,
              leadingA,
              b,
              inputType,
              leadingB,
              beta,
              c,
              outputType,
              leadingC,
              compute,
              CHOOSE_ALGORITHM);
    } catch (Throwable e) {
      throw new LinkageError("the arguments do not match the signature of cublasGemmEx", e);
    }
  }

  /** Selects a stream. That resets the workspace, which is therefore set again. */
  private void setStream(CudaStream stream) {
    if (current != stream) {
      check(NativeFunctions.call(setStream, handle, stream.handle().value()), "cublasSetStream");
      check(
          NativeFunctions.call(setWorkspace, handle, workspace.address(), WORKSPACE_BYTES),
          "cublasSetWorkspace");
      current = stream;
    }
  }

  /** Destroys the library's handle and frees the workspace. */
  @Override
  public synchronized void close() {
    var context = device.context();
    if (!context.isUnusable()) {
      context.enter();
      check(NativeFunctions.call(destroy, handle), "cublasDestroy");
    }
    workspace.close();
  }

  private static int dataType(Type type) {
    return switch (type) { // cudaDataType
      case F32 -> 0;
      case F16 -> 2;
      case BF16 -> 14;
      default ->
          throw new IllegalArgumentException(
              "A and B must be f32, f16 or bf16, got " + type.word());
    };
  }

  private MethodHandle function(String name, MemoryLayout... parameters) {
    return NativeFunctions.bind(library, name, parameters)
        .orElseThrow(
            () -> new DeviceException.Unavailable("this machine's cuBLAS does not export " + name));
  }

  private static void check(int status, String call) {
    if (status != 0) {
      throw new IllegalStateException("%s failed with cublasStatus_t %d".formatted(call, status));
    }
  }
}
