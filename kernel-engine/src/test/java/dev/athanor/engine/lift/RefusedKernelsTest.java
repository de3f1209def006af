package dev.athanor.engine.lift;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import dev.athanor.engine.lift.fuzz.MemoryCompiler;
import dev.athanor.engine.lift.refusal.LiftException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * The exact message for each kernel of {@code refusals/Refused.java}. There, a comment {@code //
 * refused: …} ends the line that the message must name; kernels without one must be lifted.
 */
class RefusedKernelsTest {
  private static final Pattern KERNEL = Pattern.compile("(\\w+)\\(");
  private static final String REFUSED = "// refused: ";

  @TestFactory
  Stream<DynamicTest> messages() throws IOException, ClassNotFoundException {
    var source = source();
    var type = compile(source);
    var expected = expected(source);
    assertThat(expected).hasSizeGreaterThan(90);
    return expected.entrySet().stream()
        .map(each -> dynamicTest(each.getKey(), () -> check(type, each.getKey(), each.getValue())));
  }

  private static void check(Class<?> type, String kernel, String expected) {
    var refused = catchThrowable(() -> Kernels.of(type, kernel).module(true));
    assertThat(refused == null ? "" : refused.getMessage()).isEqualTo(expected);
    assertThat(refused == null || refused instanceof LiftException).as("%s", refused).isTrue();
  }

  @Test
  void aLaunchWithoutABlockSizeIsRefused() throws IOException, ClassNotFoundException {
    var kernel = Kernels.of(compile(source()), "assertion").inJava();
    assertThatIllegalArgumentException()
        .isThrownBy(() -> kernel.launch(1, new int[1]))
        .withMessage("assertion declares no blockSize; set one with block()");
  }

  /** A kernel whose class file its loader does not give. */
  static final class Unreadable {
    private Unreadable() {}

    @GpuKernel
    static void kernel(int[] a) {
      a[0] = 1;
    }
  }

  @Test
  void aMissingClassFileIsNamed() {
    var loader =
        new ClassLoader(null) {
          @Override
          protected Class<?> findClass(String name) throws ClassNotFoundException {
            if (!name.equals(Unreadable.class.getName())) {
              return RefusedKernelsTest.class.getClassLoader().loadClass(name);
            }
            var file = "/" + name.replace('.', '/') + ".class";
            try (var code = RefusedKernelsTest.class.getResourceAsStream(file)) {
              var bytes = code.readAllBytes();
              return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException e) {
              throw new ClassNotFoundException(name, e);
            }
          }
        };
    assertThatThrownBy(
            () -> Kernels.of(loader.loadClass(Unreadable.class.getName()), "kernel").module(false))
        .isInstanceOf(LiftException.class)
        .hasMessage(
            "RefusedKernelsTest.java: the class file of RefusedKernelsTest.Unreadable cannot be read;"
                + " compile it to a class file on the class path (in kernel)");
  }

  private static Class<?> compile(String source) throws ClassNotFoundException {
    try (var compiler = new MemoryCompiler()) {
      var loader = compiler.compile(Map.of("Refused", source));
      loader.setDefaultAssertionStatus(true); // kernels ignore assertions all the same
      return loader.loadClass("Refused");
    }
  }

  /** Returns the message of each kernel by its name; empty if it is lifted. */
  private static Map<String, String> expected(String source) {
    var found = new TreeMap<String, String>();
    var lines = source.lines().toList();
    String kernel = "";
    for (int i = 0; i < lines.size(); i++) {
      var line = lines.get(i);
      boolean isAnnotation = line.strip().startsWith("@GpuKernel");
      if (isAnnotation) {
        var name = KERNEL.matcher(lines.get(i + 1));
        assertThat(name.find()).isTrue();
        kernel = name.group(1);
        found.put(kernel, "");
      }
      int at = line.indexOf(REFUSED);
      if (at >= 0) {
        var place = isAnnotation || line.contains(" native void ") ? "" : ":" + (i + 1);
        found.put(
            kernel, "Refused.java%s: %s".formatted(place, line.substring(at + REFUSED.length())));
      }
    }
    return found;
  }

  private static String source() throws IOException {
    try (var text = RefusedKernelsTest.class.getResourceAsStream("/refusals/Refused.java")) {
      return new String(text.readAllBytes(), StandardCharsets.UTF_8);
    }
  }
}
