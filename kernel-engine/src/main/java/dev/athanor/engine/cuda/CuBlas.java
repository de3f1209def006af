package dev.athanor.engine.cuda;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static jcuda.driver.JCudaDriver.cuDriverGetVersion;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.Stream;
import dev.athanor.engine.ptx.Type;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import org.jspecify.annotations.Nullable;

/**
 * NVIDIA's matrix multiplication, where the machine has it: the measure for our own. Matrices lie
 * in rows without gaps; cuBLAS sees them in columns, that is transposed, and so is asked for {@code
 * transpose(B) * transpose(A)}, which is the transpose of {@code A * B}.
 */
public final class CuBlas implements AutoCloseable {

  /** What NVIDIA advises for Hopper (cuBLAS, cublasSetWorkspace); others need less. */
  private static final long WORKSPACE_BYTES = 32L << 20;

  private static final int TRANSPOSED = 1;
  private static final int AS_IT_IS = 0;
  private static final int COMPUTE_32F = 68;

  /** Without TF32 and without rearrangement of the products. */
  private static final int COMPUTE_32F_PEDANTIC = 69;

  /** CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION: partial sums stay in 32 bits. */
  private static final int FULL_SUMS = 16;

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
   * Opens the newest cuBLAS of this machine: one that the dynamic linker finds, of a toolkit below
   * {@code /usr/local}, or of a Python package.
   *
   * @throws DeviceException.Unavailable when there is none, in one sentence
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
            JAVA_INT, // its type
            JAVA_INT, // its leading dimension
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
    int status = Jit.call(function("cublasCreate_v2", ADDRESS), created);
    if (status != 0) {
      workspace.close();
      throw new DeviceException.Unavailable(
          "this machine's cuBLAS does not start: cublasCreate answered cublasStatus_t " + status);
    }
    handle = created.get(ADDRESS, 0);
    check(
        Jit.call(function("cublasSetMathMode", ADDRESS, JAVA_INT), handle, FULL_SUMS),
        "cublasSetMathMode");
    var number = arena.allocate(JAVA_INT);
    check(
        Jit.call(function("cublasGetVersion_v2", ADDRESS, ADDRESS), handle, number),
        "cublasGetVersion");
    int v = number.get(JAVA_INT, 0);
    version = v / 10_000 + "." + v / 100 % 100 + "." + v % 100;
  }

  /** The library's version, such as 12.8.4. */
  public String version() {
    return version;
  }

  /**
   * Enqueues {@code C = alpha * op(A) * op(B)}, with sums in f32; f32 inputs are multiplied in
   * full, without TF32.
   *
   * @param input the type of A and B: f32, f16 or bf16
   * @param output the type of C: f32, or that of A and B
   * @param transposeA whether A lies as k rows of m, rather than m rows of k
   * @param transposeB whether B lies as n rows of k, rather than k rows of n
   * @throws IllegalArgumentException when a type is none of these or a buffer is too small
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
    var ours = CudaStream.of(context, stream, "a product of cuBLAS");
    if (m < 1 || n < 1 || k < 1) {
      throw new IllegalArgumentException(
          "m, n and k are at least 1, got %d, %d and %d".formatted(m, n, k));
    }
    int inputType = dataType(input);
    if (output != Type.F32 && output != input) {
      throw new IllegalArgumentException(
          "C is f32 or %s as A and B, got %s".formatted(input.word(), output.word()));
    }
    int outputType = dataType(output);
    long atA = CudaBuffer.range(context, a, 0, (long) m * k * input.bits() / 8);
    long atB = CudaBuffer.range(context, b, 0, (long) k * n * input.bits() / 8);
    long atC = CudaBuffer.range(context, c, 0, (long) m * n * output.bits() / 8);
    ours.enterFor("cublasGemmEx");
    choose(ours);
    this.alpha.set(JAVA_FLOAT, 0, alpha);
    check(
        multiply(
            transposeB ? TRANSPOSED : AS_IT_IS,
            transposeA ? TRANSPOSED : AS_IT_IS,
            n,
            m,
            k,
            atB,
            inputType,
            transposeB ? k : n,
            atA,
            transposeA ? m : k,
            atC,
            outputType,
            n,
            input == Type.F32 ? COMPUTE_32F_PEDANTIC : COMPUTE_32F),
        "cublasGemmEx");
    ours.enqueued();
  }

  /** cublasGemmEx, by columns: its m, n, a and b are not those of {@link #gemm}. */
  private int multiply(
      int transposeA,
      int transposeB,
      int m,
      int n,
      int k,
      long a,
      int inputType,
      int stepA,
      long b,
      int stepB,
      long c,
      int outputType,
      int stepC,
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
              stepA,
              b,
              inputType,
              stepB,
              beta,
              c,
              outputType,
              stepC,
              compute,
              CHOOSE_ALGORITHM);
    } catch (Throwable e) {
      throw new LinkageError("cublasGemmEx was called wrongly", e);
    }
  }

  /** Lets what follows run on a stream. That takes the workspace away, which is given anew. */
  private void choose(CudaStream stream) {
    if (current != stream) {
      check(Jit.call(setStream, handle, stream.handle().value()), "cublasSetStream");
      check(
          Jit.call(setWorkspace, handle, workspace.address(), WORKSPACE_BYTES),
          "cublasSetWorkspace");
      current = stream;
    }
  }

  /** Gives the library's handle and workspace back. */
  @Override
  public synchronized void close() {
    var context = device.context();
    if (!context.gone()) {
      context.enter();
      check(Jit.call(destroy, handle), "cublasDestroy");
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
              "cuBLAS is asked for f32, f16 and bf16 here, got " + type.word());
    };
  }

  @SuppressWarnings("restricted") // the signatures are those of cublas_api.h
  private MethodHandle function(String name, MemoryLayout... parameters) {
    var symbol =
        library
            .find(name)
            .orElseThrow(
                () -> new DeviceException.Unavailable("this machine's cuBLAS has no " + name));
    return Linker.nativeLinker()
        .downcallHandle(symbol, FunctionDescriptor.of(JAVA_INT, parameters));
  }

  private static void check(int status, String call) {
    if (status != 0) {
      throw new IllegalStateException("%s answered cublasStatus_t %d".formatted(call, status));
    }
  }
}
