package dev.athanor.engine.ptx;

import dev.athanor.engine.ptx.Form.Since;
import dev.athanor.engine.ptx.Semantics.Pure;
import dev.athanor.engine.ptx.Semantics.Warp;
import java.util.List;
import java.util.function.Predicate;

/** How the rows of the table are written. */
final class Row {

  private Row() {}

  /** Whether a row reads, writes, or reads and writes the carry flag. */
  enum Carry {
    IN,
    OUT,
    BOTH
  }

  static Form carry(
      String section, String version, int sm, String syntax, Carry carry, String... functions) {
    return row(
        section,
        version,
        sm,
        syntax,
        new Pure(List.of(functions), carry != Carry.OUT, carry != Carry.IN));
  }

  static Form pure(String section, String version, int sm, String syntax, String... functions) {
    return row(section, version, sm, syntax, new Pure(List.of(functions)));
  }

  static Form warp(String section, String version, int sm, String syntax, WarpFunction function) {
    return row(section, version, sm, syntax, new Warp(function));
  }

  static Form row(String section, String version, int sm, String syntax, Semantics semantics) {
    return row(section, version, sm, syntax, _ -> true, semantics);
  }

  /** A row that only code for sm_90a may have. */
  static Form hopper(String section, String version, String syntax, Semantics semantics) {
    return Form.of(
        section,
        new Since(Version.of(version), new Target(90, true)),
        syntax,
        _ -> true,
        semantics);
  }

  static Form row(
      String section,
      String version,
      int sm,
      String syntax,
      Predicate<Modifiers> legal,
      Semantics semantics) {
    return Form.of(
        section, new Since(Version.of(version), new Target(sm, false)), syntax, legal, semantics);
  }
}
