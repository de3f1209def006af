package dev.athanor.engine.debug;

import dev.athanor.engine.device.Report.Place;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Warps;
import dev.athanor.engine.ptx.symbol.SourceFrame;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A step: warps of a block are about to execute an instruction together.
 *
 * @param number of the instruction
 */
record Moment(long step, Run run, Probe probe, int number) {

  int first() {
    return probe.state().first();
  }

  int end() {
    return probe.state().end();
  }

  Instruction instruction() {
    return probe.observed().instructions().get(number);
  }

  /** Returns whether a warp of the block executes the instruction. */
  boolean includes(int warp) {
    return first() <= warp && warp < end();
  }

  boolean includes(WarpId warp) {
    return probe.observed().number() == warp.launch()
        && probe.block() == warp.block()
        && includes(warp.warp());
  }

  /** Returns the source-level frame of the instruction; null = none. */
  @Nullable SourceFrame frame() {
    return probe.frame(number).orElse(null);
  }

  /** Returns the lanes of a warp that execute the instruction. */
  int lanes(int warp) {
    var positions = probe.state().positions(warp);
    return positions.isEmpty() ? 0 : positions.getFirst().lanes();
  }

  Place place(int warp, int lane) {
    return probe.geometry().of(probe.block(), Warps.thread(warp, lane), instruction());
  }

  /** Returns whether a warp has not exited. */
  boolean isLive(WarpId warp) {
    var block = run.block(warp);
    return block != null && !block.state().positions(warp.warp()).isEmpty();
  }

  /** Returns whether a warp begins a line, or begins it again. */
  boolean arrives(int warp) {
    return probe.arrives(warp);
  }

  /** Returns the breakpoints that a warp hits. */
  List<Breakpoint> hits(int warp) {
    return arrives(warp) ? probe.hits(number, warp, lanes(warp)) : List.of();
  }
}
