package dev.athanor.engine.cuda.module;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static jcuda.driver.CUjitInputType.CU_JIT_INPUT_PTX;
import static jcuda.driver.CUjit_option.CU_JIT_ERROR_LOG_BUFFER;
import static jcuda.driver.CUjit_option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES;
import static jcuda.driver.CUjit_option.CU_JIT_INFO_LOG_BUFFER;
import static jcuda.driver.CUjit_option.CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES;
import static jcuda.driver.CUjit_option.CU_JIT_LOG_VERBOSE;
import static jcuda.driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY;
import static jcuda.driver.CUresult.CUDA_SUCCESS;
import static jcuda.driver.JCudaDriver.cuModuleLoadDataEx;

import dev.athanor.engine.cuda.context.Context;
import dev.athanor.engine.cuda.driver.CudaDriver;
import dev.athanor.engine.cuda.driver.CudaError;
import dev.athanor.engine.cuda.driver.HostPointer;
import dev.athanor.engine.cuda.driver.NativeFunctions;
import dev.athanor.engine.device.DeviceException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import jcuda.driver.CUmodule;

/**
 * The driver's compiler and loader.
 *
 * <p>The four functions of the linker are called without JCuda: the driver writes to the log
 * buffers passed to cuLinkCreate until cuLinkDestroy, but JCuda frees them when cuLinkCreate
 * returns.
 */
final class Jit {

  private static final int LOG_BYTES = 64 << 10;

  private final Context context;
  private final MethodHandle create;
  private final MethodHandle addData;
  private final MethodHandle complete;
  private final MethodHandle destroy;

  Jit(Context context) {
    this.context = context;
    create = CudaDriver.require("cuLinkCreate_v2", JAVA_INT, ADDRESS, ADDRESS, ADDRESS);
    addData =
        CudaDriver.require(
            "cuLinkAddData_v2",
            ADDRESS,
            JAVA_INT,
            ADDRESS,
            JAVA_LONG,
            ADDRESS,
            JAVA_INT,
            ADDRESS,
            ADDRESS);
    complete = CudaDriver.require("cuLinkComplete", ADDRESS, ADDRESS, ADDRESS);
    destroy = CudaDriver.require("cuLinkDestroy", ADDRESS);
  }

  /** Machine code for the GPU of the context, and the compiler's log. */
  @SuppressWarnings("ArrayRecordComponent") // a result to read, never a key
  record Compiled(byte[] cubin, String log) {}

  /** A module in the context, and the compiler's log. */
  record Loaded(CUmodule module, String log) {}

  /**
   * Compiles PTX to machine code.
   *
   * @throws DeviceException.LoadFailed with the compiler's log
   */
  @SuppressWarnings("restricted") // the driver returns the length of the cubin
  Compiled compile(String kernel, String ptx) {
    try (var arena = Arena.ofConfined()) {
      var logs = new Logs(arena);
      var state = arena.allocate(ADDRESS);
      context.enter();
      check(
          NativeFunctions.call(create, logs.count(), logs.options, logs.values, state),
          kernel,
          logs);
      var linker = state.get(ADDRESS, 0);
      try {
        var text = arena.allocateFrom(ptx);
        var name = arena.allocateFrom(kernel + ".ptx");
        check(
            NativeFunctions.call(
                addData,
                linker,
                CU_JIT_INPUT_PTX,
                text,
                text.byteSize(),
                name,
                0,
                MemorySegment.NULL,
                MemorySegment.NULL),
            kernel,
            logs);
        var cubin = arena.allocate(ADDRESS);
        var size = arena.allocate(JAVA_LONG);
        check(NativeFunctions.call(complete, linker, cubin, size), kernel, logs);
        var bytes = cubin.get(ADDRESS, 0).reinterpret(size.get(JAVA_LONG, 0));
        return new Compiled(bytes.toArray(JAVA_BYTE), logs.text());
      } finally {
        context.check(NativeFunctions.call(destroy, linker), "cuLinkDestroy");
      }
    }
  }

  /**
   * Loads machine code, or PTX, which the driver compiles.
   *
   * @throws DeviceException.LoadFailed with the compiler's log
   */
  Loaded load(String kernel, byte[] image) {
    try (var arena = Arena.ofConfined()) {
      var logs = new Logs(arena);
      var bytes = arena.allocate(image.length + 1L, Long.BYTES); // PTX ends with a zero
      MemorySegment.copy(image, 0, bytes, JAVA_BYTE, 0, image.length);
      var module = new CUmodule();
      context.enter();
      check(
          cuModuleLoadDataEx(
              module,
              HostPointer.of(bytes),
              logs.count(),
              logs.options.toArray(JAVA_INT),
              HostPointer.of(logs.values)),
          kernel,
          logs);
      return new Loaded(module, logs.text());
    }
  }

  private void check(int result, String kernel, Logs logs) {
    if (result == CUDA_SUCCESS) {
      return;
    }
    if (CudaError.fatal(result) || result == CUDA_ERROR_OUT_OF_MEMORY) {
      context.check(result, "loading kernel " + kernel);
    }
    var log = logs.text();
    throw new DeviceException.LoadFailed(
        kernel, CudaError.describe(result) + (log.isEmpty() ? "" : "\n" + log));
  }

  /** The log buffers of the compiler, as options. */
  private static final class Logs {
    private final MemorySegment info;
    private final MemorySegment errors;
    private final MemorySegment options;
    private final MemorySegment values;

    Logs(Arena arena) {
      info = arena.allocate(LOG_BYTES);
      errors = arena.allocate(LOG_BYTES);
      options =
          arena.allocateFrom(
              JAVA_INT,
              CU_JIT_INFO_LOG_BUFFER,
              CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
              CU_JIT_ERROR_LOG_BUFFER,
              CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
              CU_JIT_LOG_VERBOSE);
      // Numbers are passed as pointers; the driver writes the used sizes back here.
      values =
          arena.allocateFrom(
              JAVA_LONG, info.address(), LOG_BYTES - 1, errors.address(), LOG_BYTES - 1, 1);
    }

    int count() {
      return (int) (options.byteSize() / JAVA_INT.byteSize());
    }

    String text() {
      return (errors.getString(0) + "\n" + info.getString(0)).strip();
    }
  }
}
