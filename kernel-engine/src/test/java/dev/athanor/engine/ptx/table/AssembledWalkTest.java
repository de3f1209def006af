package dev.athanor.engine.ptx.table;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.analysis.Assembler;
import dev.athanor.engine.analysis.Assemblers;
import dev.athanor.engine.ptx.InstructionForm;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Version;
import dev.athanor.testing.TestTier;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * NVIDIA's assemblers accept every spelling of the table, for the oldest target and for those with
 * the most spellings, or in the sweep for all supported targets.
 */
@Tag(TestTier.THOROUGH_TAG)
class AssembledWalkTest {

  /**
   * Versions since 3.0, the first with 64-bit compilers. 5.1 supports what the manual dates to 6.0.
   */
  private static final List<Version> VERSIONS =
      Stream.of(
              "3.0 3.1 3.2 4.0 4.1 4.2 4.3 5.0 5.1 6.0 6.1 6.2 6.3"
                  + " 6.4 6.5 7.0 7.1 7.2 7.3 7.4 7.5 7.6 7.7 7.8 8.0 8.1 8.2 8.3 8.4 8.5 8.6 8.7"
                  + " 8.8 9.0")
          .flatMap(versions -> Stream.of(versions.split(" ")))
          .map(Version::of)
          .toList();

  /** Newest version that the available ptxas supports. */
  private static final Version NEWEST = VERSIONS.getLast();

  private static final List<Target> TARGETS =
      Stream.of(30, 32, 35, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 89, 90, 100, 120)
          .map(sm -> new Target(sm, false))
          .toList();

  /**
   * Spellings that this ptxas accepts in versions older than the manual and older assemblers do.
   */
  private static final Pattern TAKEN_TOO_EARLY =
      Pattern.compile("fence\\.(acquire|release)\\..*|cp\\.async\\..*\\.shared::cta\\..*");

  private static final Pattern LINE = Pattern.compile("line (\\d+); error");

  static Stream<Arguments> modules() {
    boolean sweep = TestTier.current() == TestTier.SWEEP;
    var known =
        Stream.of("sm_80", "sm_89", "sm_90", "sm_90a")
            .filter(target -> sweep || Set.of("sm_80", "sm_90a").contains(target))
            .map(target -> Arguments.of("JNvPTXCompiler", target));
    var all =
        Stream.of("sm_80", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_120a")
            .filter(target -> sweep || Set.of("sm_90a", "sm_100a", "sm_120a").contains(target))
            .map(target -> Arguments.of("ptxas", target));
    return Stream.concat(known, all);
  }

  @ParameterizedTest(name = "{0} {1}")
  @MethodSource("modules")
  void everySpellingAssembles(String name, String target) {
    var assembler = name.equals("ptxas") ? Assemblers.ptxas() : Assemblers.library();
    var version =
        name.equals("ptxas")
            ? new Version(9, 0)
            : target.equals("sm_80") ? Module.PORTABLE : new Version(8, 0);
    var module = TableWalk.module(version, Target.of(target));
    var assembly = assembler.assemble(module.toString(), Target.of(target));
    assertThat(assembly.cubin()).isNotEmpty();
  }

  /**
   * A version or target for which ptxas must reject spellings that need the next one.
   *
   * @param since requirement of the rejected spellings
   */
  record Before(Version version, Target target, InstructionForm.Since since) {
    @Override
    public String toString() {
      return "PTX %s for %s, where %s for %s is needed"
          .formatted(version, target, since.version(), since.target());
    }
  }

  static List<Before> before() {
    var all = new ArrayList<Before>();
    TableWalk.spellings().stream()
        .map(Instruction::since)
        .distinct()
        .forEach(since -> {
          previous(VERSIONS, since.version(), Comparator.naturalOrder())
              .ifPresent(version -> all.add(new Before(version, since.target(), since)));
          var target = since.target();
          (target.architectureSpecific()
                  ? Optional.of(new Target(target.sm(), false))
                  : previous(TARGETS, target, Comparator.comparingInt(Target::sm)))
              .ifPresent(older -> all.add(new Before(NEWEST, older, since)));
        });
    return all;
  }

  private static <T> Optional<T> previous(List<T> all, T one, Comparator<T> order) {
    return all.stream().filter(other -> order.compare(other, one) < 0).reduce((_, last) -> last);
  }

  @ParameterizedTest
  @MethodSource("before")
  @EnabledIfSystemProperty(named = "athanor.sweep", matches = "true")
  void assemblerRejectsOlderVersionsAndTargets(Before before) {
    var assembler = Assemblers.ptxas();
    var spellings =
        TableWalk.spellings().stream()
            .filter(i -> i.since().equals(before.since) && i.form().alternative() == null)
            .filter(i -> !i.form().isSupported(before.version, before.target, i.modifiers()))
            .filter(i -> !TAKEN_TOO_EARLY.matcher(i.opcode()).matches())
            .toList();
    var written =
        TableWalk.module(NEWEST, before.since.target(), spellings)
            .toString()
            .replaceFirst("\\.version .*", ".version " + before.version)
            .replaceFirst("\\.target .*", ".target " + before.target);
    var refused = refusedLines(assembler, written, before.target);
    var lines = written.lines().toList();
    var texts = spellings.stream().map(Instruction::toString).collect(Collectors.toSet());
    var taken = new TreeSet<String>();
    for (int i = 0; i < lines.size(); i++) {
      if (texts.contains(lines.get(i).strip()) && !refused.contains(i + 1)) {
        taken.add(lines.get(i).strip());
      }
    }
    assertThat(taken).as("%s: ptxas takes", before).isEmpty();
  }

  /** Returns the numbers of lines with errors. */
  private static Set<Integer> refusedLines(Assembler assembler, String text, Target target) {
    var oldest = Target.of("sm_75"); // for which ptxas generates code
    try {
      assembler.assemble(text, target.canRun(oldest) ? target : oldest);
      return Set.of();
    } catch (Assembler.AssemblyException e) {
      return LINE.matcher(String.valueOf(e.getMessage()))
          .results()
          .map(line -> Integer.valueOf(line.group(1)))
          .collect(Collectors.toSet());
    }
  }

  @Test
  void assemblerRejectsWrongText() {
    var module = TableWalk.module(Module.PORTABLE, Target.SM_80).toString();
    var broken = module.replaceFirst("fma\\.rn\\.f32", "fma.f32");
    assertThat(broken).isNotEqualTo(module);
    assertThatThrownBy(() -> Assemblers.library().assemble(broken, Target.SM_80))
        .isInstanceOf(Assembler.AssemblyException.class)
        .hasMessageContaining("fma");
  }
}
