package dev.athanor.engine.ptx.table;

import dev.athanor.engine.ptx.InstructionForm;
import dev.athanor.engine.ptx.InstructionForm.ErrorBound;
import dev.athanor.engine.ptx.InstructionForm.Facts;
import dev.athanor.engine.ptx.InstructionForm.Removal;
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
 * A row of the instruction table: section of the PTX manual, first version and target, syntax in
 * the notation of {@link RowNotation}, and semantics. Methods that return the row set further
 * columns. Numbered optional parts of the syntax yield one {@link InstructionForm} per combination.
 */
public final class Row {

  /** Returns the semantics for a choice of the optional parts. */
  @FunctionalInterface
  private interface SemanticsOf {
    Semantics of(RowNotation notation);
  }

  private final String section;
  private final Since since;
  private final String syntax;
  private final Predicate<Modifiers> legal;
  private final SemanticsOf semantics;
  private final Map<Integer, Since> optionsSince = new HashMap<>();
  private final Map<String, Since> modifiersSince = new HashMap<>();
  private Set<String> oldWords = Set.of();
  private @Nullable Since alternative;
  private @Nullable Removal removed;
  private @Nullable ErrorBound errorBound;
  private Undefined undefined = Undefined.NOTHING;
  private boolean deviceSpecific;

  private Row(
      String section,
      Since since,
      String syntax,
      Predicate<Modifiers> legal,
      SemanticsOf semantics) {
    this.section = section;
    this.since = since;
    this.syntax = syntax;
    this.legal = legal;
    this.semantics = semantics;
  }

  /** Creates a row with any semantics. */
  public static Row row(
      String section, String version, int sm, String syntax, Semantics semantics) {
    return row(section, version, sm, syntax, _ -> true, semantics);
  }

  /**
   * Creates a row with mutually exclusive modifiers.
   *
   * @param legal whether a combination of modifiers that fits the syntax is legal
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

  /** Creates a row that requires sm_90a. */
  static Row hopper(String section, String version, String syntax, Semantics semantics) {
    var since = new Since(Version.of(version), new Target(90, true));
    return new Row(section, since, syntax, _ -> true, _ -> semantics);
  }

  /** Creates a row that requires sm_100a. */
  static Row blackwell(String section, String version, String syntax, Semantics semantics) {
    var since = new Since(Version.of(version), new Target(100, true));
    return new Row(section, since, syntax, _ -> true, _ -> semantics);
  }

  /** Creates a warp-level row that requires sm_100a. */
  static Row blackwell(
      WarpKind kind, String section, String version, String syntax, WarpFunction function) {
    var since = new Since(Version.of(version), new Target(100, true));
    return new Row(section, since, syntax, _ -> true, _ -> new Warp(kind, function));
  }

  /** Creates a warp-level row that requires sm_120a, or sm_121a. */
  static Row consumerBlackwell(
      WarpKind kind, String section, String version, String syntax, WarpFunction function) {
    var since = new Since(Version.of(version), new Target(120, true));
    var row = new Row(section, since, syntax, _ -> true, _ -> new Warp(kind, function));
    row.alternative = new Since(Version.of("8.8"), new Target(121, true));
    return row;
  }

  /** Creates a warp-level row. */
  static Row warp(
      WarpKind kind, String section, String version, int sm, String syntax, WarpFunction function) {
    return row(section, version, sm, syntax, new Warp(kind, function));
  }

  /** Creates a row that computes lane by lane, with one lane function per result. */
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
   * Creates a row that reads the carry flag or, with {@code .cc}, writes it.
   *
   * @param carry use of the flag without {@code .cc}
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

  /** Sets an alternative version that supports the row on other targets. */
  Row since(String version, int sm) {
    alternative = first(version, sm);
    return this;
  }

  /** Sets the first version and target of a numbered optional part. */
  Row optionSince(int number, String version, int sm) {
    optionsSince.put(number, first(version, sm));
    return this;
  }

  /** Sets the first version and target of some modifiers. */
  Row modifierSince(String version, int sm, String... words) {
    for (var word : words) {
      modifiersSince.put(word, first(version, sm));
    }
    return this;
  }

  /** Declares modifiers that are as old as the row, although newer in other rows. */
  Row asOldAsRow(String... words) {
    oldWords = Set.of(words);
    return this;
  }

  /** Sets the first version that lacks the row, for a target and later ones. */
  Row removed(String version, int sm, String replacement) {
    removed = new Removal(first(version, sm), replacement);
    return this;
  }

  /** Sets the error that the manual permits with {@code .approx} or {@code .full}. */
  Row within(ErrorBound allowed) {
    errorBound = allowed;
    return this;
  }

  /** Sets the operands for which the manual defines no result. */
  Row undefined(Undefined operands) {
    undefined = operands;
    return this;
  }

  /** Declares that results differ between devices and cannot be compared. */
  Row deviceSpecific() {
    deviceSpecific = true;
    return this;
  }

  /** Returns the forms of several rows, in order. */
  static List<InstructionForm> forms(Row... rows) {
    return forms(List.of(rows));
  }

  static List<InstructionForm> forms(List<Row> rows) {
    return rows.stream().flatMap(row -> row.forms().stream()).toList();
  }

  /** Returns one form per combination of optional parts. */
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
        var own = modifiersSince.getOrDefault(modifier.word(), Vocabulary.since(modifier));
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
        semantics.of(notation),
        new Facts(errorBound, undefined, deviceSpecific, removed, newer));
  }
}
