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
    var options =
        List.of("-proc:only", "-classpath", ENGINE, "-processorpath", ENGINE);
    var compiler = ToolProvider.getSystemJavaCompiler();
    boolean passed =
        compiler.getTask(null, null, found, options, null, List.of(source)).call();
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
          @GpuKernel void k(int[] a) {} | x
          @GpuKernel abstract void k(); | x
          @GpuKernel static native void k(int[] a); | x
          @GpuKernel static synchronized void k(int[] a) {} | x
          @GpuKernel static <T> void k(int[] a) {} | x
          @GpuKernel static void k(int[] a) throws Exception {} | x
          @GpuKernel static int k(int[] a) { return 1; } | x
          @GpuKernel static java.util.List<String> k() { return null; } | x
          @GpuKernel static void k(int[] a, String text) {} | x
          @GpuKernel static void k(java.util.List<Integer> a) {} | x
          @GpuKernel static void k(Integer n) {} | x
          @GpuKernel static void k(int n, float[][] a) {} | x
          @GpuKernel static void k(String[] a) {} | x
          @GpuKernel static void k(int... a) {} | x
          @GpuKernel(blockSize = 1025) static void k() {} | x
          @GpuKernel(blockSize = {32, 64}) static void k() {} | x
          @GpuKernel(blockSize = 0) static void k() {} | x
          @GpuKernel(blockSize = {8, -8}) static void k() {} | x
          @GpuKernel(blockSize = {1, 1, 65}) static void k() {} | x
          @GpuKernel(blockSize = {1, 1, 1, 1}) static void k() {} | x
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
