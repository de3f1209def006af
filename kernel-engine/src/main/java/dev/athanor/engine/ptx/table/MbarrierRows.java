package dev.athanor.engine.ptx.table;

import static dev.athanor.engine.ptx.table.Row.pure;
import static dev.athanor.engine.ptx.table.Row.row;

import dev.athanor.engine.ptx.InstructionForm;
import dev.athanor.engine.ptx.Semantics.CopyArrive;
import dev.athanor.engine.ptx.Semantics.Mbarrier;
import dev.athanor.engine.ptx.Semantics.MbarrierKind;
import java.util.ArrayList;
import java.util.List;

/** Barriers in shared memory that count arrivals and bytes (PTX ISA 9.7.13.15). */
final class MbarrierRows {

  static final List<InstructionForm> ALL = all();

  private MbarrierRows() {}

  private static List<InstructionForm> all() {
    var all = new ArrayList<InstructionForm>();
    // spotless:off
    all.add(row("9.7.13.15.9",  "7.0", 80, "mbarrier.init{.own}.b64 [a], n:u32",  new Mbarrier(MbarrierKind.INIT)));
    all.add(row("9.7.13.15.10", "7.0", 80, "mbarrier.inval{.own}.b64 [a]",        new Mbarrier(MbarrierKind.INVAL)));
    counts(all, "9.7.13.15.11", "expect_tx", MbarrierKind.EXPECT);
    counts(all, "9.7.13.15.12", "complete_tx", MbarrierKind.COMPLETE);
    arrivals(all, "9.7.13.15.13", "mbarrier.arrive", MbarrierKind.ARRIVE);
    arrivals(all, "9.7.13.15.14", "mbarrier.arrive_drop", MbarrierKind.DROP);
    all.add(row("9.7.13.15.15", "7.0", 80, "cp.async.mbarrier.arrive{.noinc}{.own}.b64 [a]", new CopyArrive()));
    waits(all, "7.0", 80, "mbarrier.test_wait", "7.1");
    waits(all, "7.8", 90, "mbarrier.try_wait", "7.8");
    all.add(pure("9.7.13.15.17", "7.0", 80, "mbarrier.pending_count.b64 d:u32, a:u64", "pendingCount").deviceSpecific());
    // spotless:on
    return all;
  }

  /** Bytes that are announced or that have come. */
  private static void counts(
      List<InstructionForm> all, String section, String name, MbarrierKind kind) {
    for (var order : List.of("", ".relaxed.<cta|cluster>")) {
      all.add(
          row(
              section,
              "8.0",
              90,
              "mbarrier." + name + order + "{.<shared|shared::cta|shared::cluster>}.b64 [a], n:u32",
              new Mbarrier(kind)));
    }
  }

  /** Only those at a barrier of the own block answer its state before. */
  private static void arrivals(
      List<InstructionForm> all, String section, String name, MbarrierKind kind) {
    var meaning = new Mbarrier(kind);
    var own = "{.own}.b64 d?, [a]";
    var remote = ".shared::cluster.b64 _, [a]";
    all.add(row(section, "7.0", 80, name + own, meaning));
    all.add(row(section, "7.8", 90, name + own + ", n:u32", meaning));
    all.add(row(section, "7.0", 80, name + ".noComplete{.own}.b64 d, [a], n:u32", meaning));
    all.add(row(section, "8.0", 90, name + remote, meaning));
    all.add(row(section, "8.0", 90, name + remote + ", n:u32", meaning));
    all.add(row(section, "8.0", 90, name + ".expect_tx" + own + ", t:u32", meaning));
    all.add(row(section, "8.0", 90, name + ".expect_tx" + remote + ", t:u32", meaning));
    for (var order : List.of("release", "relaxed")) {
      var version = order.equals("release") ? "8.0" : "8.6";
      var ordered = name + "." + order + ".<cta|cluster>";
      var expecting = name + ".expect_tx." + order + ".<cta|cluster>";
      for (var place : List.of(own, remote)) {
        int target = order.equals("release") && place.equals(own) ? 80 : 90;
        all.add(row(section, version, target, ordered + place, meaning));
        all.add(row(section, version, 90, ordered + place + ", n:u32", meaning));
        all.add(row(section, version, 90, expecting + place + ", t:u32", meaning));
      }
    }
  }

  private static void waits(
      List<InstructionForm> all, String version, int sm, String name, String parityVersion) {
    boolean suspends = name.endsWith("try_wait");
    var meaning = new Mbarrier(suspends ? MbarrierKind.TRY_WAIT : MbarrierKind.TEST_WAIT);
    for (var order : List.of("", ".acquire.<cta|cluster>", ".relaxed.<cta|cluster>")) {
      var since = order.isEmpty() ? version : order.startsWith(".a") ? "8.0" : "8.6";
      int target = order.startsWith(".r") ? 90 : sm;
      var tail = order + "{.own}.b64 p:pred, [a], ";
      var parity = order.isEmpty() ? parityVersion : since;
      all.add(row("9.7.13.15.16", since, target, name + tail + "s:b64", meaning));
      all.add(row("9.7.13.15.16", parity, target, name + ".parity" + tail + "s:u32", meaning));
      if (suspends) {
        all.add(row("9.7.13.15.16", since, target, name + tail + "s:b64, t:u32", meaning));
        all.add(
            row("9.7.13.15.16", since, target, name + ".parity" + tail + "s:u32, t:u32", meaning));
      }
    }
  }
}
