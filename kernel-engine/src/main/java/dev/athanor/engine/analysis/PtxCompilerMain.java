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
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import jcuda.nvptxcompiler.JNvPTXCompiler;
import jcuda.nvptxcompiler.nvPTXCompilerHandle;

/**
 * The child process of {@link PtxCompilerProcess}. It writes the version of the library and then
 * answers requests until its input ends.
 */
final class PtxCompilerMain {

  /** The first byte of an answer. */
  static final int REFUSED = 0;

  static final int ACCEPTED = 1;

  private PtxCompilerMain() {}

  public static void main(String[] args) throws IOException {
    var in = new DataInputStream(new FileInputStream(FileDescriptor.in));
    var out =
        new DataOutputStream(new BufferedOutputStream(new FileOutputStream(FileDescriptor.out)));
    JarLibraries.load(() -> JNvPTXCompiler.setExceptionsEnabled(false)); // codes are checked here
    var major = new int[1];
    var minor = new int[1];
    require(nvPTXCompilerGetVersion(major, minor), "nvPTXCompilerGetVersion");
    out.writeUTF("%d.%d".formatted(major[0], minor[0]));
    out.flush();
    try {
      while (true) {
        answer(in.readUTF(), in.readNBytes(in.readInt()), out);
        out.flush();
      }
    } catch (EOFException e) {
      // the parent has closed the input or ended
    }
  }

  /** Writes the kind of the answer, the library's log, and the cubin, which is empty if refused. */
  private static void answer(String target, byte[] ptx, DataOutputStream out) throws IOException {
    var text = Arrays.copyOf(ptx, ptx.length + 1); // ends with a zero
    var handle = new nvPTXCompilerHandle();
    require(nvPTXCompilerCreate(handle, text.length, text), "nvPTXCompilerCreate");
    var options = new String[] {"--gpu-name=" + target, "--verbose"};
    boolean accepted =
        nvPTXCompilerCompile(handle, options.length, options) == NVPTXCOMPILE_SUCCESS;
    out.writeByte(accepted ? ACCEPTED : REFUSED);
    write(accepted ? info(handle) : errors(handle), out);
    // The size of a refused program is undefined.
    write(accepted ? cubin(handle) : new byte[0], out);
    require(nvPTXCompilerDestroy(handle), "nvPTXCompilerDestroy");
  }

  private static void write(byte[] bytes, DataOutputStream out) throws IOException {
    out.writeInt(bytes.length);
    out.write(bytes);
  }

  private static byte[] cubin(nvPTXCompilerHandle handle) {
    var size = new long[1];
    require(
        nvPTXCompilerGetCompiledProgramSize(handle, size), "nvPTXCompilerGetCompiledProgramSize");
    var cubin = new byte[Math.toIntExact(size[0])];
    require(nvPTXCompilerGetCompiledProgram(handle, cubin), "nvPTXCompilerGetCompiledProgram");
    return cubin;
  }

  private static byte[] errors(nvPTXCompilerHandle handle) {
    var size = new long[1];
    require(nvPTXCompilerGetErrorLogSize(handle, size), "nvPTXCompilerGetErrorLogSize");
    var log = new byte[Math.toIntExact(size[0]) + 1];
    if (size[0] > 0) {
      require(nvPTXCompilerGetErrorLog(handle, log), "nvPTXCompilerGetErrorLog");
    }
    return text(log);
  }

  private static byte[] info(nvPTXCompilerHandle handle) {
    var size = new long[1];
    require(nvPTXCompilerGetInfoLogSize(handle, size), "nvPTXCompilerGetInfoLogSize");
    var log = new byte[Math.toIntExact(size[0]) + 1];
    if (size[0] > 0) {
      require(nvPTXCompilerGetInfoLog(handle, log), "nvPTXCompilerGetInfoLog");
    }
    return text(log);
  }

  /** Returns the text before the first zero. */
  private static byte[] text(byte[] log) {
    int end = 0;
    while (end < log.length && log[end] != 0) {
      end++;
    }
    return new String(log, 0, end, StandardCharsets.UTF_8).strip().getBytes(StandardCharsets.UTF_8);
  }

  private static void require(int result, String call) {
    if (result != NVPTXCOMPILE_SUCCESS) {
      throw new IllegalStateException("%s returned %d".formatted(call, result));
    }
  }
}
