package dev.athanor.engine.ptx.table;

import static dev.athanor.engine.ptx.table.Row.pure;
import static dev.athanor.engine.ptx.table.Row.row;

import dev.athanor.engine.ptx.InstructionForm;
import dev.athanor.engine.ptx.Semantics.CopyArrive;
import dev.athanor.engine.ptx.Semantics.Mbarrier;
import dev.athanor.engine.ptx.Semantics.MbarrierKind;
import java.util.ArrayList;
import java.util.List;

/**
 * Mbarriers, which are in shared memory and count arrivals and transaction bytes (PTX ISA
 * 9.7.13.15).
 */
final class MbarrierRows {

  static final List<InstructionForm> ALL = Row.forms(all());

  private MbarrierRows() {}

  private static List<Row> all() {
    var all = new ArrayList<Row>();
    // spotless:off
    all.add(row("9.7.13.15.9",  "7.0", 80, "mbarrier.init{.own}.b64 [a], count:u32", new Mbarrier(MbarrierKind.INIT)));
    all.add(row("9.7.13.15.10", "7.0", 80, "mbarrier.inval{.own}.b64 [a]",        new Mbarrier(MbarrierKind.INVAL)));
    transactionCounts(all, "9.7.13.15.11", "expect_tx", MbarrierKind.EXPECT);
    transactionCounts(all, "9.7.13.15.12", "complete_tx", MbarrierKind.COMPLETE);
    arrivals(all, "9.7.13.15.13", "mbarrier.arrive", MbarrierKind.ARRIVE);
    arrivals(all, "9.7.13.15.14", "mbarrier.arrive_drop", MbarrierKind.DROP);
    all.add(row("9.7.13.15.15", "7.0", 80, "cp.async.mbarrier.arrive{.noinc}{.own}.b64 [a]", new CopyArrive()));
    waits(all, "7.0", 80, "mbarrier.test_wait", "7.1");
    waits(all, "7.8", 90, "mbarrier.try_wait", "7.8");
    all.add(pure("9.7.13.15.17", "7.0", 80, "mbarrier.pending_count.b64 d:u32, a:u64", "pendingCount").deviceSpecific());
    // spotless:on
    return all;
  }

  /** Adds an operation on the transaction bytes. */
  private static void transactionCounts(
      List<Row> all, String section, String name, MbarrierKind kind) {
    all.add(
        row(
            section,
            "8.0",
            90,
            "mbarrier."
                + name
                + "{1.relaxed.<cta|cluster>}{.<shared|shared::cta|shared::cluster>}.b64"
                + " [a], count:u32",
            new Mbarrier(kind)));
  }

  /** Adds the arrivals. Only those at an mbarrier of the own block return its state. */
  private static void arrivals(List<Row> all, String section, String name, MbarrierKind kind) {
    var semantics = new Mbarrier(kind);
    var own = "{.own}.b64 d?, [a]";
    var remote = ".shared::cluster.b64 _, [a]";
    var count = "{1, count:u32}";
    var order = ".<release|relaxed>.<cta|cluster>";
    all.add(row(section, "7.0", 80, name + own + count, semantics).optionSince(1, "7.8", 90));
    all.add(row(section, "7.0", 80, name + ".noComplete{.own}.b64 d, [a], count:u32", semantics));
    all.add(
        row(
            section,
            "8.0",
            80,
            name + ".noComplete.release.cta{.own}.b64 d, [a], count:u32",
            semantics));
    all.add(row(section, "8.0", 90, name + remote + count, semantics));
    all.add(
        row(section, "8.0", 80, name + order + own + count, semantics)
            .optionSince(1, "8.0", 90)
            .modifierSince("8.6", 90, "relaxed"));
    all.add(
        row(section, "8.0", 90, name + order + remote + count, semantics)
            .modifierSince("8.6", 90, "relaxed"));
    for (var place : List.of(own, remote)) {
      var syntax = name + ".expect_tx{1" + order + "}" + place + ", tx_count:u32";
      all.add(row(section, "8.0", 90, syntax, semantics).modifierSince("8.6", 90, "relaxed"));
    }
  }

  private static void waits(
      List<Row> all, String version, int sm, String name, String parityVersion) {
    boolean suspends = name.endsWith("try_wait");
    var semantics = new Mbarrier(suspends ? MbarrierKind.TRY_WAIT : MbarrierKind.TEST_WAIT);
    var hint = suspends ? "{1, time_hint:u32}" : "";
    var place = "{2.<acquire|relaxed>.<cta|cluster>}{.own}.b64 p:pred, [a], state:";
    for (var parity : List.of("", ".parity")) {
      var type = parity.isEmpty() ? "b64" : "u32";
      var first = parity.isEmpty() ? version : parityVersion;
      all.add(
          row("9.7.13.15.16", first, sm, name + parity + place + type + hint, semantics)
              .optionSince(2, "8.0", sm)
              .modifierSince("8.6", 90, "relaxed"));
    }
  }
}
