package dev.athanor.engine.ptx.table;

import dev.athanor.engine.ptx.InstructionForm;
import dev.athanor.engine.ptx.InstructionForm.ErrorBound;
import dev.athanor.engine.ptx.InstructionForm.Facts;
import dev.athanor.engine.ptx.InstructionForm.Since;
import dev.athanor.engine.ptx.InstructionForm.Undefined;
import dev.athanor.engine.ptx.Modifier;
import dev.athanor.engine.ptx.Modifiers;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Semantics.Carry;
import dev.athanor.engine.ptx.Semantics.LaneOperation;
import dev.athanor.engine.ptx.Semantics.Pure;
import dev.athanor.engine.ptx.Semantics.Warp;
import dev.athanor.engine.ptx.Semantics.WarpKind;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Version;
import dev.athanor.engine.ptx.WarpFunction;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A line of the instruction table: section of the PTX manual, first version and target, syntax in
 * the notation of {@link RowNotation}, and meaning. Further columns have defaults and are set by
 * the methods that return the row itself. Numbered optional parts of the syntax make one {@link
 * InstructionForm} for each choice of parts.
 */
public final class Row {

  /** The meaning of an instruction, given the optional parts that it has. */
  @FunctionalInterface
  private interface Meaning {
    Semantics of(RowNotation notation);
  }

  private final String section;
  private final Since since;
  private final String syntax;
  private final Predicate<Modifiers> legal;
  private final Meaning meaning;
  private final Map<Integer, Since> optionsSince = new HashMap<>();
  private final Map<String, Since> wordsSince = new HashMap<>();
  private Set<String> oldWords = Set.of();
  private @Nullable Since alternative;
  private @Nullable Since removed;
  private @Nullable ErrorBound bound;
  private Undefined undefined = Undefined.NOTHING;
  private boolean deviceSpecific;

  private Row(
      String section, Since since, String syntax, Predicate<Modifiers> legal, Meaning meaning) {
    this.section = section;
    this.since = since;
    this.syntax = syntax;
    this.legal = legal;
    this.meaning = meaning;
  }

  /** A row of any meaning. */
  public static Row row(
      String section, String version, int sm, String syntax, Semantics semantics) {
    return row(section, version, sm, syntax, _ -> true, semantics);
  }

  /**
   * A row with modifiers that exclude each other.
   *
   * @param legal whether a combination of modifiers that fits the syntax is an instruction
   */
  public static Row row(
      String section,
      String version,
      int sm,
      String syntax,
      Predicate<Modifiers> legal,
      Semantics semantics) {
    return new Row(section, first(version, sm), syntax, legal, _ -> semantics);
  }

  /** A row that only code for sm_90a may have. */
  static Row hopper(String section, String version, String syntax, Semantics semantics) {
    var since = new Since(Version.of(version), new Target(90, true));
    return new Row(section, since, syntax, _ -> true, _ -> semantics);
  }

  /** A row that a whole warp executes as one, and that only code for sm_100a may have. */
  static Row blackwell(
      WarpKind kind, String section, String version, String syntax, WarpFunction function) {
    var since = new Since(Version.of(version), new Target(100, true));
    return new Row(section, since, syntax, _ -> true, _ -> new Warp(kind, function));
  }

  /** A row that a whole warp executes as one. */
  static Row warp(
      WarpKind kind, String section, String version, int sm, String syntax, WarpFunction function) {
    return row(section, version, sm, syntax, new Warp(kind, function));
  }

  /** A row that computes lane by lane, by one lane function for each result. */
  static Row pure(String section, String version, int sm, String syntax, String... functions) {
    return pure(LaneOperation.OTHER, section, version, sm, syntax, functions);
  }

  static Row pure(
      LaneOperation operation,
      String section,
      String version,
      int sm,
      String syntax,
      String... functions) {
    return pure(operation, section, version, sm, syntax, _ -> true, functions);
  }

  static Row pure(
      LaneOperation operation,
      String section,
      String version,
      int sm,
      String syntax,
      Predicate<Modifiers> legal,
      String... functions) {
    return lanes(operation, section, version, sm, syntax, legal, Carry.NONE, functions);
  }

  /**
   * A row that reads or, with {@code .cc}, writes the carry flag.
   *
   * @param carry how it uses the flag without {@code .cc}
   */
  static Row carry(
      LaneOperation operation,
      String section,
      String version,
      int sm,
      String syntax,
      Carry carry,
      String... functions) {
    return lanes(operation, section, version, sm, syntax, _ -> true, carry, functions);
  }

  private static Row lanes(
      LaneOperation operation,
      String section,
      String version,
      int sm,
      String syntax,
      Predicate<Modifiers> legal,
      Carry carry,
      String... functions) {
    return new Row(
        section,
        first(version, sm),
        syntax,
        legal,
        notation -> {
          var flag = notation.setsCarry() ? carry.written() : carry;
          int results = notation.results() + (flag.isWritten() ? 1 : 0);
          return new Pure(
              operation,
              Arrays.stream(functions).map(notation::choose).limit(results).toList(),
              flag);
        });
  }

  private static Since first(String version, int sm) {
    return new Since(Version.of(version), new Target(sm, false));
  }

  /** Another version that has it for other targets. */
  Row since(String version, int sm) {
    alternative = first(version, sm);
    return this;
  }

  /** The first version and target that have an optional part, by its number. */
  Row option(int number, String version, int sm) {
    optionsSince.put(number, first(version, sm));
    return this;
  }

  /** The first version and target that have some of its modifiers. */
  Row newer(String version, int sm, String... words) {
    for (var word : words) {
      wordsSince.put(word, first(version, sm));
    }
    return this;
  }

  /** Modifiers that are as old as the row, though other rows got them later. */
  Row asOld(String... words) {
    oldWords = Set.of(words);
    return this;
  }

  /** The first version that lacks it, for a target and later ones. */
  Row removed(String version, int sm) {
    removed = first(version, sm);
    return this;
  }

  /** The error that the manual allows with {@code .approx} or {@code .full}. */
  Row within(ErrorBound allowed) {
    bound = allowed;
    return this;
  }

  /** The operands for which the manual defines no result. */
  Row undefined(Undefined operands) {
    undefined = operands;
    return this;
  }

  /** Its results differ between devices, so that they cannot be compared. */
  Row deviceSpecific() {
    deviceSpecific = true;
    return this;
  }

  /** The forms of several rows, in their order. */
  static List<InstructionForm> forms(Row... rows) {
    return forms(List.of(rows));
  }

  static List<InstructionForm> forms(List<Row> rows) {
    return rows.stream().flatMap(row -> row.forms().stream()).toList();
  }

  /** One form for each choice of optional parts. */
  public List<InstructionForm> forms() {
    var all = new ArrayList<InstructionForm>();
    for (var notation : RowNotation.choices(syntax)) {
      all.add(form(notation));
    }
    return all;
  }

  private InstructionForm form(RowNotation notation) {
    var first = since;
    for (var option : notation.chosen()) {
      first = optionsSince.getOrDefault(option, first);
    }
    var modifiers = notation.modifiers();
    var newer = new HashMap<Modifier, Since>();
    for (var slot : modifiers) {
      for (var modifier : slot.choices()) {
        var own = wordsSince.getOrDefault(modifier.word(), Vocabulary.since(modifier));
        if (own != null && !oldWords.contains(modifier.word())) {
          newer.put(modifier, own);
        }
      }
    }
    return new InstructionForm(
        section,
        first,
        alternative,
        notation.text(),
        notation.mnemonic(),
        modifiers,
        notation.operands(),
        legal,
        meaning.of(notation),
        new Facts(bound, undefined, deviceSpecific, removed, newer));
  }
}
