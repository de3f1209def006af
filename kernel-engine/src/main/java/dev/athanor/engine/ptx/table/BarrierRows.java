package dev.athanor.engine.ptx.table;

import static dev.athanor.engine.ptx.table.Row.row;

import dev.athanor.engine.ptx.InstructionForm;
import dev.athanor.engine.ptx.Semantics.Barrier;
import dev.athanor.engine.ptx.Semantics.BarrierKind;
import dev.athanor.engine.ptx.Semantics.ClusterArrive;
import dev.athanor.engine.ptx.Semantics.ClusterWait;
import java.util.ArrayList;
import java.util.List;

/**
 * Barriers of blocks and clusters (PTX ISA 9.7.13.1, 9.7.13.4). {@code bar} is the older name of
 * {@code barrier.aligned}.
 */
final class BarrierRows {

  static final List<InstructionForm> ALL = Row.forms(all());

  private BarrierRows() {}

  private static List<Row> all() {
    var all = new ArrayList<Row>();
    rows(all, "bar", "1.0", 20, "");
    rows(all, "bar.cta", "7.8", 30, "");
    rows(all, "barrier", "5.1", 30, "{.aligned}");
    rows(all, "barrier.cta", "7.8", 30, "{.aligned}");
    all.add(row("9.7.13.4", "7.8", 90, "barrier.cluster.arrive{.aligned}", new ClusterArrive()));
    all.add(
        row(
            "9.7.13.4",
            "8.0",
            90,
            "barrier.cluster.arrive.<release|relaxed>{.aligned}",
            new ClusterArrive()));
    all.add(row("9.7.13.4", "7.8", 90, "barrier.cluster.wait{.aligned}", new ClusterWait()));
    all.add(
        row("9.7.13.4", "8.0", 90, "barrier.cluster.wait.acquire{.aligned}", new ClusterWait()));
    return all;
  }

  private static void rows(List<Row> all, String name, String version, int sm, String aligned) {
    var threads = "{1, b:u32}";
    barrier(
        all, name + ".sync" + aligned + " a:u32(0..15)" + threads, version, sm, BarrierKind.SYNC);
    barrier(
        all, name + ".arrive" + aligned + " a:u32(0..15), b:u32", version, sm, BarrierKind.ARRIVE);
    var operands = " d, a:u32(0..15)" + threads + ", c:pred";
    var red = name + ".red";
    barrier(all, red + ".popc" + aligned + ".u32" + operands, version, sm, BarrierKind.COUNT);
    barrier(all, red + ".and" + aligned + ".pred" + operands, version, sm, BarrierKind.ALL);
    barrier(all, red + ".or" + aligned + ".pred" + operands, version, sm, BarrierKind.ANY);
  }

  private static void barrier(
      List<Row> all, String syntax, String version, int sm, BarrierKind kind) {
    boolean aligned = !syntax.contains("{.aligned}");
    all.add(row("9.7.13.1", version, sm, syntax, new Barrier(kind, aligned)).asOldAsRow("cta"));
  }
}
