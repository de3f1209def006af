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
 * The barriers of a block and of a cluster (PTX ISA 9.7.13.1, 9.7.13.4). {@code bar} is {@code
 * barrier.aligned} under an older name.
 */
final class BarrierRows {

  static final List<InstructionForm> ALL = all();

  private BarrierRows() {}

  private static List<InstructionForm> all() {
    var all = new ArrayList<InstructionForm>();
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

  private static void rows(
      List<InstructionForm> all, String name, String version, int sm, String aligned) {
    barrier(all, name + ".sync" + aligned, version, sm, "", "a:u32(0..15)", BarrierKind.SYNC);
    barrier(
        all, name + ".sync" + aligned, version, sm, "", "a:u32(0..15), b:u32", BarrierKind.SYNC);
    barrier(
        all,
        name + ".arrive" + aligned,
        version,
        sm,
        "",
        "a:u32(0..15), b:u32",
        BarrierKind.ARRIVE);
    var red = name + ".red";
    for (var operands : List.of("d, a:u32(0..15), ", "d, a:u32(0..15), b:u32, ")) {
      barrier(
          all,
          red + ".popc" + aligned,
          version,
          sm,
          ".u32",
          operands + "c:pred",
          BarrierKind.COUNT);
      barrier(
          all, red + ".and" + aligned, version, sm, ".pred", operands + "c:pred", BarrierKind.ALL);
      barrier(
          all, red + ".or" + aligned, version, sm, ".pred", operands + "c:pred", BarrierKind.ANY);
    }
  }

  private static void barrier(
      List<InstructionForm> all,
      String name,
      String version,
      int sm,
      String type,
      String operands,
      BarrierKind kind) {
    boolean aligned = !name.contains("{.aligned}");
    all.add(row("9.7.13.1", version, sm, name + type + " " + operands, new Barrier(kind, aligned)).asOld("cta"));
  }
}
