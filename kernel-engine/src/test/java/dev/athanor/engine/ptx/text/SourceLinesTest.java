package dev.athanor.engine.ptx.text;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.ptx.Source;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SourceLinesTest {
  private static final String FILE = ".file 1 \"/src/a.cu\", 1700000000, 120\n";
  private static final String HEAD = ".version 7.4\n.target sm_80\n.address_size 64\n";
  private static final String KERNEL = ".visible .entry k()\n{\n.loc 1 7 3\nret;\n}\n";

  /** Clang names files first, nvcc at the end. */
  @ParameterizedTest
  @ValueSource(strings = {HEAD + FILE + KERNEL, HEAD + KERNEL + FILE})
  void namesTheFileOfALine(String ptx) {
    var module = Parser.parse(ptx, "a.ptx");
    assertThat(module.kernels().getFirst().instructions().map(i -> i.source().origin()))
        .containsExactly(new Source("/src/a.cu", 7, 3));
  }

  @ParameterizedTest
  @ValueSource(strings = {HEAD + KERNEL, HEAD + KERNEL + ".file 2 \"/src/b.cu\""})
  void numbersAFileWithoutAName(String ptx) {
    var module = Parser.parse(ptx, "a.ptx");
    assertThat(module.kernels().getFirst().instructions().map(i -> i.source().origin()))
        .containsExactly(new Source("file 1", 7, 3));
  }
}
