package dev.athanor.engine.ptx.table;

import dev.athanor.engine.ptx.InstructionForm;
import dev.athanor.engine.ptx.InstructionForm.Since;
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
import java.util.List;
import java.util.function.Predicate;

/** How the rows of the table are written. */
public final class Row {

  private Row() {}

  static InstructionForm carry(
      LaneOperation operation,
      String section,
      String version,
      int sm,
      String syntax,
      Carry carry,
      String... functions) {
    return row(section, version, sm, syntax, new Pure(operation, List.of(functions), carry));
  }

  static InstructionForm carry(
      String section, String version, int sm, String syntax, Carry carry, String... functions) {
    return carry(LaneOperation.OTHER, section, version, sm, syntax, carry, functions);
  }

  static InstructionForm pure(
      LaneOperation operation,
      String section,
      String version,
      int sm,
      String syntax,
      Predicate<Modifiers> legal,
      String... functions) {
    return row(
        section, version, sm, syntax, legal, new Pure(operation, List.of(functions), Carry.NONE));
  }

  static InstructionForm pure(
      LaneOperation operation,
      String section,
      String version,
      int sm,
      String syntax,
      String... functions) {
    return pure(operation, section, version, sm, syntax, _ -> true, functions);
  }

  static InstructionForm pure(
      String section, String version, int sm, String syntax, String... functions) {
    return pure(LaneOperation.OTHER, section, version, sm, syntax, functions);
  }

  static InstructionForm warp(
      WarpKind kind,
      String section,
      String version,
      int sm,
      String syntax,
      WarpFunction function) {
    return row(section, version, sm, syntax, new Warp(kind, function));
  }

  public static InstructionForm row(
      String section, String version, int sm, String syntax, Semantics semantics) {
    return row(section, version, sm, syntax, _ -> true, semantics);
  }

  /** A row that only code for sm_90a may have. */
  static InstructionForm hopper(
      String section, String version, String syntax, Semantics semantics) {
    return InstructionForm.of(
        section,
        new Since(Version.of(version), new Target(90, true)),
        syntax,
        _ -> true,
        semantics);
  }

  public static InstructionForm row(
      String section,
      String version,
      int sm,
      String syntax,
      Predicate<Modifiers> legal,
      Semantics semantics) {
    return InstructionForm.of(
        section, new Since(Version.of(version), new Target(sm, false)), syntax, legal, semantics);
  }
}
