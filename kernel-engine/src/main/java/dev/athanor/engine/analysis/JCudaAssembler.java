package dev.athanor.engine.analysis;

import static jcuda.nvptxcompiler.JNvPTXCompiler.nvPTXCompilerCompile;
import static jcuda.nvptxcompiler.JNvPTXCompiler.nvPTXCompilerCreate;
import static jcuda.nvptxcompiler.JNvPTXCompiler.nvPTXCompilerDestroy;
import static jcuda.nvptxcompiler.JNvPTXCompiler.nvPTXCompilerGetCompiledProgram;
import static jcuda.nvptxcompiler.JNvPTXCompiler.nvPTXCompilerGetCompiledProgramSize;
import static jcuda.nvptxcompiler.JNvPTXCompiler.nvPTXCompilerGetErrorLog;
import static jcuda.nvptxcompiler.JNvPTXCompiler.nvPTXCompilerGetErrorLogSize;
import static jcuda.nvptxcompiler.JNvPTXCompiler.nvPTXCompilerGetInfoLog;
import static jcuda.nvptxcompiler.JNvPTXCompiler.nvPTXCompilerGetInfoLogSize;
import static jcuda.nvptxcompiler.JNvPTXCompiler.nvPTXCompilerGetVersion;
import static jcuda.nvptxcompiler.nvPTXCompileResult.NVPTXCOMPILE_SUCCESS;

import dev.athanor.engine.natives.JarLibraries;
import dev.athanor.engine.ptx.Target;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;
import jcuda.nvptxcompiler.JNvPTXCompiler;
import jcuda.nvptxcompiler.nvPTXCompilerHandle;

/**
 * NVIDIA's PTX compiler library of CUDA 12.0, which JCuda brings along: in this process, without a
 * driver. It reads PTX up to 8.0 and knows targets up to sm_90a. Its functions may be called by
 * several threads at once (PTX Compiler API, chapter 3), each with its own handle.
 */
public final class JCudaAssembler implements Assembler {

  private final String name;

  private JCudaAssembler(String name) {
    this.name = name;
  }

  /** The compiler, where its library can be loaded: on Linux for x86-64. */
  public static Optional<JCudaAssembler> find() {
    return Once.FOUND;
  }

  private static final class Once {
    static final Optional<JCudaAssembler> FOUND = load();
  }

  private static Optional<JCudaAssembler> load() {
    try {
      JarLibraries.load(() -> JNvPTXCompiler.setExceptionsEnabled(false)); // codes are checked here
    } catch (LinkageError | UncheckedIOException e) {
      System.getLogger(JCudaAssembler.class.getName())
          .log(System.Logger.Level.DEBUG, "the PTX compiler library cannot be loaded", e);
      return Optional.empty();
    }
    var major = new int[1];
    var minor = new int[1];
    require(nvPTXCompilerGetVersion(major, minor), "nvPTXCompilerGetVersion");
    return Optional.of(new JCudaAssembler("nvPTXCompiler %d.%d".formatted(major[0], minor[0])));
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public Assembly assemble(String ptx, Target target) {
    var text = (ptx + "\0").getBytes(StandardCharsets.UTF_8);
    var handle = new nvPTXCompilerHandle();
    require(nvPTXCompilerCreate(handle, text.length, text), "nvPTXCompilerCreate");
    try {
      var options = new String[] {"--gpu-name=" + target, "--verbose"};
      // After a failure only the log may be asked for: the program's size is then anything.
      if (nvPTXCompilerCompile(handle, options.length, options) != NVPTXCOMPILE_SUCCESS) {
        throw new AssemblyException(name, target, errors(handle));
      }
      var size = new long[1];
      require(
          nvPTXCompilerGetCompiledProgramSize(handle, size), "nvPTXCompilerGetCompiledProgramSize");
      var cubin = new byte[Math.toIntExact(size[0])];
      require(nvPTXCompilerGetCompiledProgram(handle, cubin), "nvPTXCompilerGetCompiledProgram");
      return Assembly.read(info(handle), cubin);
    } finally {
      require(nvPTXCompilerDestroy(handle), "nvPTXCompilerDestroy");
    }
  }

  private static String errors(nvPTXCompilerHandle handle) {
    var size = new long[1];
    require(nvPTXCompilerGetErrorLogSize(handle, size), "nvPTXCompilerGetErrorLogSize");
    var log = new byte[Math.toIntExact(size[0]) + 1];
    if (size[0] > 0) {
      require(nvPTXCompilerGetErrorLog(handle, log), "nvPTXCompilerGetErrorLog");
    }
    return text(log);
  }

  private static String info(nvPTXCompilerHandle handle) {
    var size = new long[1];
    require(nvPTXCompilerGetInfoLogSize(handle, size), "nvPTXCompilerGetInfoLogSize");
    var log = new byte[Math.toIntExact(size[0]) + 1];
    if (size[0] > 0) {
      require(nvPTXCompilerGetInfoLog(handle, log), "nvPTXCompilerGetInfoLog");
    }
    return text(log);
  }

  private static String text(byte[] log) {
    int end = 0;
    while (end < log.length && log[end] != 0) {
      end++;
    }
    return new String(Arrays.copyOf(log, end), StandardCharsets.UTF_8).strip();
  }

  private static void require(int result, String call) {
    if (result != NVPTXCOMPILE_SUCCESS) {
      throw new IllegalStateException("%s answered %d".formatted(call, result));
    }
  }
}
