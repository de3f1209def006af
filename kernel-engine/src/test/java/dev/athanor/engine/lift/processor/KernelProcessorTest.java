package dev.athanor.engine.lift.processor;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.lift.GpuKernel;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import java.util.ServiceLoader;
import javax.annotation.processing.Processor;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Kernels that cannot be launched do not compile where the processor runs. */
class KernelProcessorTest {
  private static final String ENGINE =
      Path.of(
              URI.create(
                  GpuKernel.class.getProtectionDomain().getCodeSource().getLocation().toString()))
          .toString();

  /** Returns {@code line:column: message} for each error; declarations are on line 3. */
  private static List<String> errors(String declaration) {
    var text =
        """
        import dev.athanor.engine.lift.GpuKernel;
        abstract class Kernels {
        %s
        }
        """
            .formatted(declaration);
    var source =
        new SimpleJavaFileObject(URI.create("memory:///Kernels.java"), JavaFileObject.Kind.SOURCE) {
          @Override
          public CharSequence getCharContent(boolean ignoreEncodingErrors) {
            return text;
          }
        };
    var found = new DiagnosticCollector<JavaFileObject>();
    var options = List.of("-proc:only", "-classpath", ENGINE, "-processorpath", ENGINE);
    var compiler = ToolProvider.getSystemJavaCompiler();
    boolean passed = compiler.getTask(null, null, found, options, null, List.of(source)).call();
    assertThat(passed).isEqualTo(found.getDiagnostics().isEmpty());
    return found.getDiagnostics().stream()
        .map(d -> "%d:%d: %s".formatted(d.getLineNumber(), d.getColumnNumber(), d.getMessage(null)))
        .toList();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '"',
      textBlock =
          """
          @GpuKernel void k(int[] a) {} | 17: the kernel k is an instance method; make it static, and pass what it reads as parameters
          @GpuKernel abstract void k(); | 26: k has no Java body; use a static method that has one
          @GpuKernel static native void k(int[] a); | 31: k has no Java body; use a static method that has one
          @GpuKernel static synchronized void k(int[] a) {} | 37: `synchronized` needs a monitor; use Gpu.barrier(), or Gpu's atomics
          @GpuKernel static <T> void k(int[] a) {} | 28: the kernel has type parameters; write one method for each type
          @GpuKernel static void k(int[] a) throws Exception {} | 24: the kernel has a throws clause, and a GPU thread has no exceptions; remove it
          @GpuKernel static int k(int[] a) { return 1; } | 23: the kernel returns int; make it void, and write results to an array parameter
          @GpuKernel static java.util.List<String> k() { return null; } | 42: the kernel returns List; make it void, and write results to an array parameter
          @GpuKernel static void k(int[] a, String text) {} | 42: the parameter text has the type String; use a number, a boolean, an enum, an array of numbers or records, a MemorySegment, or a record of these
          @GpuKernel static void k(java.util.List<Integer> a) {} | 50: the parameter a has the type List; use a number, a boolean, an enum, an array of numbers or records, a MemorySegment, or a record of these
          @GpuKernel static void k(P p) {} record P(int n, String s) {} | 28: the parameter p has the type P; use a number, a boolean, an enum, an array of numbers or records, a MemorySegment, or a record of these
          @GpuKernel static void k(P p) {} record P(int n, P[] all) {} | 28: the parameter p has the type P; use a number, a boolean, an enum, an array of numbers or records, a MemorySegment, or a record of these
          @GpuKernel static void k(P p) {} record P(int n, P other) {} | 28: the parameter p has the type P; use a number, a boolean, an enum, an array of numbers or records, a MemorySegment, or a record of these
          @GpuKernel static void k(P[] p) {} record P(int n, int[] a) {} | 30: p is an array of objects or arrays; use a flat array of numbers or records of numbers, for rows in a record `Matrix(float[] elements, int columns)`
          @GpuKernel static void k(E[] e) {} enum E { A } | 30: e is an array of objects or arrays; use a flat array of numbers or records of numbers, for rows in a record `Matrix(float[] elements, int columns)`
          @GpuKernel static void k(Integer n) {} | 34: the parameter n has the type Integer; use a number, a boolean, an enum, an array of numbers or records, a MemorySegment, or a record of these
          @GpuKernel static void k(int n, float[][] a) {} | 43: a is an array of objects or arrays; use a flat array of numbers or records of numbers, for rows in a record `Matrix(float[] elements, int columns)`
          @GpuKernel static void k(String[] a) {} | 35: a is an array of objects or arrays; use a flat array of numbers or records of numbers, for rows in a record `Matrix(float[] elements, int columns)`
          @GpuKernel static void k(int... a) {} | 33: the parameter a takes a variable number of arguments; declare it as an array
          @GpuKernel(blockSize = 1025) static void k() {} | 24: blockSize makes 1025 threads; give extents with a product of at most 1024
          @GpuKernel(blockSize = {32, 64}) static void k() {} | 24: blockSize makes 2048 threads; give extents with a product of at most 1024
          @GpuKernel(blockSize = 0) static void k() {} | 24: blockSize has the extent 0; give extents of 1 or more
          @GpuKernel(blockSize = {8, -8}) static void k() {} | 24: blockSize has the extent -8; give extents of 1 or more
          @GpuKernel(blockSize = {1, 1, 65}) static void k() {} | 24: blockSize has the z extent 65; give a z extent of at most 64
          @GpuKernel(blockSize = 64, minBlocks = -1) static void k() {} | 40: minBlocks is -1, and blockSize makes 64 threads; declare a blockSize, and 1 to 32 blocks with at most 2048 threads
          @GpuKernel(blockSize = {1, 1, 1, 1}) static void k() {} | 24: blockSize has 4 extents; give one to three, for x, y and z
          @GpuKernel(name = "add.v2") static void k() {} | 19: the name `add.v2` is no identifier of PTX; use ASCII letters, digits, _ and $, and start with a letter; WARP_SZ and dynamic are reserved
          """)
  void anErrorIsAtItsElement(String declaration, String expected) {
    assertThat(errors(declaration)).containsExactly("3:" + expected);
  }

  @Test
  void everyErrorOfADeclarationIsReported() {
    assertThat(errors("@GpuKernel(blockSize = 0) int k(String a, Object b) { return 1; }"))
        .hasSize(5);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          @GpuKernel static void k() {}
          @GpuKernel(blockSize = {32, 8, 4}) static void k(float[] x, boolean[] b, char c, long n) {}
          @GpuKernel(blockSize = {}) static void k(java.lang.foreign.MemorySegment s, byte[] b) {}
          @GpuKernel static void k(P p, E e) {} record P(int n, Q q, E e) {} record Q(boolean b) {} enum E { A }
          @GpuKernel static void k(P[] p, Q[] q) {} record P(int n, Q q, E e) {} record Q(boolean b) {} enum E { A }
          static int helper(String text) { return 1; }
          """)
  void whatCanBeAKernelCompiles(String declaration) {
    assertThat(errors(declaration)).isEmpty();
  }

  @Test
  void theServiceIsRegistered() {
    assertThat(ServiceLoader.load(Processor.class))
        .hasAtLeastOneElementOfType(KernelProcessor.class);
  }
}
