package dev.athanor.engine.ptx.table;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.ptx.InstructionForm;
import java.io.IOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.constantpool.StringEntry;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/**
 * Only the table and code that writes kernels refer to mnemonics, with or without modifiers; others
 * use the columns of rows.
 */
class MnemonicsTest {

  private static final String ENGINE = "dev/athanor/engine";

  private static final Set<String> MNEMONICS =
      InstructionTable.all().stream().map(InstructionForm::mnemonic).collect(Collectors.toSet());

  /** Packages that write instructions, and classes whose messages recommend them. */
  private static final List<String> WRITERS =
      List.of(
          "ptx.table.",
          "ptx.legal.",
          "author.",
          "lift.emit.",
          "lift.intrinsic.",
          "conformance.",
          "emulator.sanitizer.SanitizerMessages",
          "emulator.sanitizer.AsyncSanitizer");

  /** Other classes that may contain such words. */
  private static final Map<String, Set<String>> ALLOWED =
      Map.of(
          // write instructions
          "emulator.program.CanonicalNans", Set.of("max.NaN.f32"),
          "emulator.program.Program", Set.of("ret"),
          // the syntax of calls, which differs from all others, .calltargets, and moves of vectors
          "ptx.text.BodyParser", Set.of("call", "call.", "mov.v%d"),
          "ptx.Statement", Set.of("call"),
          // the names of Java methods
          "lift.DivergentBarriers", Set.of("barrier"),
          "lift.bytecode.SegmentAccesses", Set.of("set"),
          // modifiers of the same name
          "ptx.meaning.Collectives", Set.of("abs"),
          "ptx.meaning.MatrixProduct", Set.of("and"),
          "ptx.meaning.ScalarVideoFunctions", Set.of("add", "min", "max"));

  @Test
  void onlyTheTableKnowsMnemonics() throws IOException, URISyntaxException {
    var found = new TreeMap<String, Set<String>>();
    var classes =
        Path.of(InstructionTable.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    var root = classes.resolve(ENGINE);
    try (var files = Files.walk(root)) {
      for (var file : files.filter(f -> f.toString().endsWith(".class")).toList()) {
        var name = name(root.relativize(file));
        var words = literals(file);
        words.removeIf(word -> !MNEMONICS.contains(word.split("\\.", 2)[0]));
        if (!words.isEmpty() && WRITERS.stream().noneMatch(name::startsWith)) {
          found.computeIfAbsent(name, _ -> new TreeSet<>()).addAll(words);
        }
      }
    }
    assertThat(found)
        .as("mnemonics in string literals outside of the table and what writes instructions")
        .isEqualTo(ALLOWED);
  }

  /** Returns the top-level class of a file, relative to the engine's package. */
  private static String name(Path file) {
    return file.toString()
        .replaceFirst("(\\$.*)?\\.class$", "")
        .replace(file.getFileSystem().getSeparator(), ".");
  }

  private static Set<String> literals(Path file) throws IOException {
    var words = new TreeSet<String>();
    for (var entry : ClassFile.of().parse(file).constantPool()) {
      if (entry instanceof StringEntry string) {
        words.add(string.stringValue());
      }
    }
    return words;
  }
}
