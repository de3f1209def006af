package dev.athanor.engine.emulator.run;

import dev.athanor.engine.device.Report;
import dev.athanor.engine.device.Report.Kind;
import dev.athanor.engine.emulator.run.ThreadPositions.Fragment;
import dev.athanor.engine.emulator.run.ThreadPositions.Warp;
import dev.athanor.engine.emulator.step.Block;
import dev.athanor.engine.emulator.step.BoundInstruction;
import dev.athanor.engine.emulator.step.Step;
import dev.athanor.engine.ptx.Warps;
import java.util.ArrayList;
import java.util.List;

/** Reports why the threads of a block can never make progress. */
record StuckThreads(
    Block block, List<BoundInstruction> code, List<Warp> warps, BlockBarriers barriers) {

  /**
   * Reports the position of each fragment when no thread of the cluster can make progress.
   *
   * @param jumps the number of backward jumps without effect; 0 = no thread is looping
   */
  List<Report> reports(long jumps) {
    var reports = new ArrayList<Report>();
    for (var warp : warps) {
      for (var fragment : warp.fragments) {
        int lane = Warps.firstThread(warp.index, fragment.mask);
        var kind = kind(warp, fragment);
        reports.add(
            block.report(
                jumps > 0 && kind != Kind.MBARRIER_BYTES ? Kind.LIVELOCK : kind,
                lane,
                code.get(fragment.pc).instruction,
                waiting(warp, fragment, jumps)));
      }
    }
    return reports;
  }

  /** Returns why a fragment can never make progress. */
  private Kind kind(Warp warp, Fragment fragment) {
    var op = code.get(fragment.pc);
    return switch (fragment.wait) {
      case WARP ->
          op.kind == BoundInstruction.Kind.BARRIER
              ? Kind.BARRIER_DIVERGENT
              : ((Step.Collective) op.step).names() ? Kind.MEMBER_MISSING : Kind.PARTIAL_WARP;
      case BARRIER -> barriers.isAbandoned(warp) ? Kind.BARRIER_ABANDONED : Kind.DEADLOCK;
      case EVENT -> ((Step.Event) op.step).kind(warp.index, fragment.mask);
      case NONE -> Kind.DEADLOCK;
    };
  }

  private String waiting(Warp warp, Fragment fragment, long jumps) {
    return switch (fragment.wait) {
      case NONE ->
          "loops forever with lanes 0x%08x; in %d backward jumps no thread stored"
                  .formatted(fragment.mask, jumps)
              + " anything, passed a barrier or exited";
      case WARP ->
          "waits forever for other threads of its warp; lanes 0x%08x of 0x%08x arrived"
              .formatted(fragment.mask, block.live[warp.index]);
      case BARRIER -> barriers.waiting(warp);
      case EVENT ->
          "waits forever: "
              + ((Step.Event) code.get(fragment.pc).step).missing(warp.index, fragment.mask);
    };
  }
}
