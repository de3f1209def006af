package dev.athanor.engine.emulator.run;

import dev.athanor.engine.device.Report;
import dev.athanor.engine.emulator.memory.GlobalMemory;
import dev.athanor.engine.emulator.memory.Memory;
import dev.athanor.engine.emulator.memory.Registers;
import dev.athanor.engine.emulator.run.ThreadPositions.Wait;
import dev.athanor.engine.emulator.run.ThreadPositions.Warp;
import dev.athanor.engine.emulator.step.Block;
import dev.athanor.engine.emulator.step.BoundInstruction;
import dev.athanor.engine.emulator.watch.BlockState;
import dev.athanor.engine.emulator.watch.Observer;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** Announces the instructions of a block to its observer, which reads the block's state here. */
final class ObservedBlock implements BlockState {
  private final Observer observer;
  private final Block block;
  private final Warp[] warps;

  /** Whether the observer wants to know of each instruction. */
  private final boolean[] watched;

  // the warps that execute the instruction announced last; none while no instruction is executed
  private int first;
  private int last;
  private int pc;

  /**
   * @param instructions of the kernel
   * @param added the numbers of those that are not announced
   */
  ObservedBlock(
      Observer observer, Block block, Warp[] warps, int instructions, Set<Integer> added) {
    this.observer = observer;
    this.block = block;
    this.warps = warps;
    this.watched = new boolean[instructions];
    for (int i = 0; i < watched.length; i++) {
      watched[i] = observer.watches(i) && !added.contains(i);
    }
    observer.attach(this);
  }

  /** Announces an instruction that the active lanes of a gang are about to execute. */
  void announce(BoundInstruction op, int at, Gang gang) {
    if (watched[at]) {
      pc = at;
      first = gang.first;
      last = gang.end;
      for (int warp = gang.first; warp < gang.end; warp++) {
        observer.execute(at, warp, block.active[warp], op.chosen(warp, block.active[warp]));
      }
    }
  }

  /** Announces an instruction that lanes of a warp are about to execute. */
  void announce(int at, int warp, int active, int chosen) {
    if (watched[at]) {
      pc = at;
      first = warp;
      last = warp + 1;
      observer.execute(at, warp, active, chosen);
    }
  }

  /** The threads that executed the announced instruction have stopped. */
  void pause() {
    first = 0;
    last = 0;
  }

  /** Announces a fault. */
  void failed(List<Report> reports) {
    observer.failed(reports);
  }

  /** Announces that all threads have exited. */
  void ended() {
    observer.end();
  }

  @Override
  public Registers registers() {
    return block.registers;
  }

  @Override
  public Memory shared() {
    return block.sharedMemory;
  }

  @Override
  public Memory local() {
    return block.localMemory;
  }

  @Override
  public Memory parameters() {
    return block.parameterMemory;
  }

  @Override
  public GlobalMemory.Snapshot buffers() {
    return block.memory;
  }

  @Override
  public int warps() {
    return warps.length;
  }

  @Override
  public int first() {
    return first;
  }

  @Override
  public int end() {
    return last;
  }

  @Override
  public List<Position> positions(int warp) {
    var positions = new ArrayList<Position>();
    for (var fragment : warps[warp].fragments) {
      boolean executes = first <= warp && warp < last && (fragment.mask & block.active[warp]) != 0;
      var position =
          new Position(
              executes ? pc : fragment.pc, fragment.mask, !executes && fragment.wait != Wait.NONE);
      positions.add(executes ? 0 : positions.size(), position);
    }
    return positions;
  }
}
