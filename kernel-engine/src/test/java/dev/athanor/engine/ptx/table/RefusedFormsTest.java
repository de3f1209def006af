package dev.athanor.engine.ptx.table;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.ptx.InstructionForm;
import dev.athanor.engine.ptx.Modifier;
import dev.athanor.engine.ptx.Modifiers;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Source;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.Version;
import dev.athanor.testing.Programs;
import dev.athanor.testing.TestTier;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/**
 * Opcodes that ptxas accepts have a row or are listed in {@code docs/emulator.md}. The candidates
 * are spellings of rows with one modifier removed, added or replaced.
 */
class RefusedFormsTest {

  private static final Version VERSION = new Version(9, 0);
  private static final Target TARGET = Target.SM_90A;

  /** Candidates that are assembled at once. */
  private static final int BATCH = 400;

  /** Spellings whose neighbors are candidates, about a hundred each. */
  private static final int SPELLINGS = 3_000;

  /** After this time, ptxas is assumed to hang on one of the candidates. */
  private static final int HANGS_AFTER_SECONDS = 120;

  private static final Path DOCUMENT = Path.of("../docs/emulator.md");

  private static final Pattern LISTED = Pattern.compile("`([a-z]\\S*)`[,:]");
  private static final Pattern ERROR = Pattern.compile("line (\\d+); error");

  /** Kinds of opcodes beyond the manual, which need neither a row nor a place in the document. */
  private static final Map<String, Pattern> BEYOND_THE_MANUAL =
      Map.ofEntries(
          entry("the same modifier twice", ".*(\\.[^.]+)(\\..*)?\\1(\\..*)?"),
          entry(
              "`.v8` of 8- and 16-bit types", "(ld|st)\\.(?=.*\\bv8\\b)(?=.*\\b[bsu](8|16)\\b).*"),
          entry(
              "cache operators and `.weak` in the parameter space",
              "(ld|st)\\.(?=.*\\bparam\\b)(?=.*\\b(c[agsv]|lu|w[bt]|weak)\\b).*"),
          entry(
              "prefetch sizes of volatile loads",
              "ld\\.(?=.*\\bvolatile\\b)(?=.*\\bL2::\\d+B\\b).*"),
          entry("`mapa.u32` of generic addresses", "mapa\\.u32"),
          entry("`testp` without a property", "testp\\.f(32|64)"),
          entry("other forms of `st.async`", "st\\.async\\..*"),
          entry(
              "`sync_restrict` in `fence.mbarrier_init`",
              "fence\\.(?=.*\\bmbarrier_init\\b)(?=.*\\bsync_restrict\\b).*"),
          entry("fields in `tensormap.cp_fenceproxy`", "tensormap\\.cp_fenceproxy\\..*"),
          entry("`wgmma` without `.aligned`", "wgmma\\.mma_async\\.(?!.*\\baligned\\b).*"),
          entry(
              "`wmma` with f32 in the shapes m8n8k32 and m8n8k128",
              "wmma\\.(load|store)\\..*\\bm8n8k(32|128)\\b.*f32.*"));

  private static Map.Entry<String, Pattern> entry(String words, String opcodes) {
    return Map.entry(words, Pattern.compile(opcodes));
  }

  @TempDir Path folder;

  /** The listed forms, in the notation of the table without operands. */
  private static List<InstructionForm> listed() throws IOException {
    return Files.readString(DOCUMENT)
        .split("## What ptxas accepts and the emulator refuses\n", 2)[1]
        .split("\n## ", 2)[0]
        .lines()
        .filter(line -> line.startsWith("- "))
        .flatMap(line -> LISTED.matcher(line).results().map(form -> form.group(1)))
        .flatMap(form -> Row.row("", "1.0", 20, form, new Semantics.NoEffect()).forms().stream())
        .toList();
  }

  private static boolean hasRow(List<InstructionForm> rows, Modifiers words) {
    return rows.stream().anyMatch(row -> row.match(words.list()).isPresent());
  }

  @Test
  void noRowHasAListedForm() throws IOException {
    var listed = listed();
    assertThat(listed).isNotEmpty();
    for (var form : listed) {
      var rows =
          InstructionTable.all().stream()
              .filter(row -> row.mnemonic().equals(form.mnemonic()))
              .toList();
      assertThat(form.allModifiers()).as(form.syntax()).noneMatch(words -> hasRow(rows, words));
    }
  }

  @Test
  @EnabledIfSystemProperty(named = "athanor.sweep", matches = "true")
  void ptxasAcceptsNothingElse() throws Exception {
    Programs.require("ptxas", "the CUDA toolkit");
    var candidates = List.copyOf(candidates(listed()));
    assertThat(candidates).hasSizeGreaterThan(SPELLINGS);
    var accepted = new TreeSet<String>();
    for (int at = 0; at < candidates.size(); at += BATCH) {
      accepted.addAll(accepted(candidates.subList(at, Math.min(at + BATCH, candidates.size()))));
    }
    assertThat(accepted)
        .as("seed %d: give them a row or list them in emulator.md", TestTier.seed())
        .isEmpty();
  }

  /** Returns instructions that have no row and are not listed. */
  private static Set<String> candidates(List<InstructionForm> listed) {
    var known =
        Stream.concat(InstructionTable.all().stream(), listed.stream())
            .collect(Collectors.groupingBy(InstructionForm::mnemonic));
    var spellings =
        new ArrayList<>(
            TableWalk.spellings().stream()
                .filter(each -> !(each.form().semantics() instanceof Semantics.Control))
                .filter(each ->
                    each.modifiers().list().stream().noneMatch(Modifier.Part.class::isInstance))
                .toList());
    Collections.shuffle(spellings, new Random(TestTier.seed()));
    var all = new LinkedHashSet<String>();
    for (var spelling : spellings.subList(0, SPELLINGS)) {
      var form = spelling.form();
      var rows = Objects.requireNonNull(known.get(form.mnemonic()));
      var words = new LinkedHashSet<Modifier>();
      rows.forEach(row -> row.modifiers().forEach(slot -> words.addAll(slot.choices())));
      for (var other : neighbors(spelling.modifiers().list(), words)) {
        var opcode = form.mnemonic() + other;
        boolean beyond =
            BEYOND_THE_MANUAL.values().stream().anyMatch(kind -> kind.matcher(opcode).matches());
        if (!beyond && !hasRow(rows, other)) {
          text(form, other).ifPresent(all::add);
        }
      }
    }
    return all;
  }

  /** Returns modifiers with one removed, added or replaced; types are only replaced by types. */
  private static Set<Modifiers> neighbors(List<Modifier> spelling, Set<Modifier> words) {
    var all = new LinkedHashSet<Modifiers>();
    for (int at = 0; at <= spelling.size(); at++) {
      boolean isType = at < spelling.size() && spelling.get(at) instanceof Type;
      for (var word : words) {
        if (!(word instanceof Type) && !spelling.contains(word)) {
          all.add(changed(spelling, at, at, List.of(word)));
        }
        if (at < spelling.size() && isType == word instanceof Type) {
          all.add(changed(spelling, at, at + 1, List.of(word)));
        }
      }
      if (at < spelling.size() && !isType) {
        all.add(changed(spelling, at, at + 1, List.of()));
      }
    }
    return all;
  }

  private static Modifiers changed(
      List<Modifier> spelling, int from, int to, List<Modifier> replacement) {
    var changed = new ArrayList<>(spelling.subList(0, from));
    changed.addAll(replacement);
    changed.addAll(spelling.subList(to, spelling.size()));
    return new Modifiers(changed);
  }

  /** Returns an instruction; empty if modifiers lack a type, or no register is as wide as it. */
  private static Optional<String> text(InstructionForm form, Modifiers words) {
    try {
      var operands =
          form.operands().stream().map(slot -> TableWalk.operand(form, slot, words)).toList();
      return Optional.of(new Instruction(form, words, operands, null, Source.UNKNOWN).toString());
    } catch (IllegalArgumentException | NoSuchElementException e) {
      return Optional.empty();
    }
  }

  /**
   * Returns the instructions that ptxas accepts. It names the lines of errors, but may crash or
   * hang instead; then the instructions are halved until one is left, which is not accepted.
   */
  private List<String> accepted(List<String> instructions) throws Exception {
    var text = TableWalk.module(VERSION, TARGET, List.of()).toString().split("\\$end:", 2);
    int first = (int) text[0].lines().count() + 1;
    var left = instructions;
    while (!left.isEmpty()) {
      var output = folder.resolve("output.txt");
      var source = folder.resolve("candidates.ptx");
      Files.writeString(source, text[0] + String.join("\n", left) + "\n$end:" + text[1]);
      var process =
          new ProcessBuilder("ptxas", "--gpu-name=" + TARGET, source.toString(), "-o", "/dev/null")
              .redirectErrorStream(true)
              .redirectOutput(output.toFile())
              .start();
      boolean ended = process.waitFor(HANGS_AFTER_SECONDS, TimeUnit.SECONDS);
      if (!ended) {
        process.destroyForcibly().waitFor();
      } else if (process.exitValue() == 0) {
        return left;
      }
      var refused = new HashSet<String>();
      for (var error : ERROR.matcher(Files.readString(output)).results().toList()) {
        int at = Integer.parseInt(error.group(1)) - first;
        if (0 <= at && at < left.size()) {
          refused.add(left.get(at));
        }
      }
      if (refused.isEmpty()) {
        int half = left.size() / 2;
        if (half == 0) {
          return List.of();
        }
        var all = new ArrayList<>(accepted(left.subList(0, half)));
        all.addAll(accepted(left.subList(half, left.size())));
        return all;
      }
      left = left.stream().filter(instruction -> !refused.contains(instruction)).toList();
    }
    return left;
  }
}
