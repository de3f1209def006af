package dev.athanor.engine.lift;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.athanor.engine.lift.fuzz.MemoryCompiler;
import dev.athanor.engine.lift.refusal.LiftException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * The exact message for each kernel of {@code refusals/Refused.java}. There, a comment {@code //
 * refused: …} ends the line that the message must name.
 */
class RefusedKernelsTest {
  private static final Pattern KERNEL = Pattern.compile("static .*?(\\w+)\\(|void (instance)\\(");
  private static final String REFUSED = "// refused: ";

  @TestFactory
  Stream<DynamicTest> messages() throws IOException, ClassNotFoundException {
    var source = source();
    Class<?> type;
    try (var compiler = new MemoryCompiler()) {
      type = compiler.compile(Map.of("Refused", source)).loadClass("Refused");
    }
    return expected(source).entrySet().stream()
        .map(
            each ->
                DynamicTest.dynamicTest(
                    each.getKey(),
                    () -> {
                      var kernel = Kernels.of(type, each.getKey());
                      var refused = catchThrowable(() -> kernel.module(true));
                      assertThat(refused).isInstanceOf(LiftException.class);
                      assertThat(refused).hasMessage(each.getValue());
                    }));
  }

  /** Returns the message of each kernel by its name. */
  private static Map<String, String> expected(String source) {
    var found = new TreeMap<String, String>();
    var lines = source.lines().toList();
    String kernel = "";
    for (int i = 0; i < lines.size(); i++) {
      if (lines.get(i).strip().equals("@GpuKernel")) {
        var name = KERNEL.matcher(lines.get(i + 1));
        assertThat(name.find()).isTrue();
        kernel = name.group(1) == null ? name.group(2) : name.group(1);
        found.put(kernel, "");
      }
      int at = lines.get(i).indexOf(REFUSED);
      if (at >= 0) {
        found.put(
            kernel,
            "Refused.java:%d: %s"
                .formatted(i + 1, lines.get(i).substring(at + REFUSED.length())));
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
