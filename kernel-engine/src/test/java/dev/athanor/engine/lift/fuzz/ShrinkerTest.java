package dev.athanor.engine.lift.fuzz;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.testing.TestTier;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Shrinking keeps a property and little else. */
@Tag(TestTier.THOROUGH_TAG)
class ShrinkerTest {

  @Test
  void keepsWhatTheKernelNeedsForTheProperty() {
    try (var compiler = new MemoryCompiler()) {
      var program =
          Stream.iterate(1, seed -> seed + 1)
              .map(seed -> RandomKernel.of("Shrunk", seed).text())
              .filter(text -> text.text().contains("Gpu.shuffle"))
              .findFirst()
              .orElseThrow();
      assertThat(hasShuffle(program, compiler)).isTrue();
      var small = new Shrinker(text -> hasShuffle(text, compiler), 500).shrink(program);
      assertThat(small.size()).isLessThan(program.size() / 2);
      assertThat(hasShuffle(small, compiler)).isTrue();
      assertThat(small.text()).containsOnlyOnce("Gpu.shuffle").doesNotContain("for (", "while (");
    }
  }

  private static boolean hasShuffle(Piece text, MemoryCompiler compiler) {
    try {
      compiler.compile(Map.of("Shrunk", text.text()));
    } catch (IllegalArgumentException notCompiled) {
      return false;
    }
    return text.text().contains("Gpu.shuffle");
  }
}
