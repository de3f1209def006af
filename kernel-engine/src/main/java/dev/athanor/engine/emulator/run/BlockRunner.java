package dev.athanor.engine.emulator.run;

import dev.athanor.engine.device.Report;
import dev.athanor.engine.device.Report.Kind;
import dev.athanor.engine.emulator.async.AsyncCluster;
import dev.athanor.engine.emulator.async.AsyncState;
import dev.athanor.engine.emulator.async.PendingOperations;
import dev.athanor.engine.emulator.jit.CompiledCode;
import dev.athanor.engine.emulator.memory.Fault;
import dev.athanor.engine.emulator.options.EmulatorOptions.Execution;
import dev.athanor.engine.emulator.options.Schedule;
import dev.athanor.engine.emulator.program.FusedProducts;
import dev.athanor.engine.emulator.run.Gang.Guarded;
import dev.athanor.engine.emulator.run.ThreadPositions.Fragment;
import dev.athanor.engine.emulator.run.ThreadPositions.Wait;
import dev.athanor.engine.emulator.run.ThreadPositions.Warp;
import dev.athanor.engine.emulator.step.Block;
import dev.athanor.engine.emulator.step.BoundInstruction;
import dev.athanor.engine.emulator.step.Cluster;
import dev.athanor.engine.emulator.step.Step;
import dev.athanor.engine.emulator.step.Vectors;
import dev.athanor.engine.ptx.Warps;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Executes the threads of a block. Adjacent whole warps at the same instruction may execute it
 * together, as a gang; otherwise each fragment executes alone. A fragment that has run a loop for
 * long yields to the others, since it may be waiting for them.
 */
public final class BlockRunner {

  /** Maximum number of backward jumps of a fragment, and of turns of a block, before it yields. */
  public static final int TURN = CompiledCode.TURN;

  private final Block block;
  private final BoundInstruction[] code;
  private final Warp[] warps;
  private final BlockBarriers barriers;
  private final WarpScheduler picker;
  private final @Nullable ObservedBlock observed;
  private final LoadedProgram program;
  private final CompiledSegments segments;
  private final EventWaits waits;
  private final AsyncState async;
  private final PendingOperations pending;

  /** Interpreted warp instructions of the current block. */
  private long interpreted;

  /** Executions of {@link FusedProducts} in the current block. */
  private long products;

  /** Fused products by their first instruction; null = none. */
  private final @Nullable FusedProducts @Nullable [] fused;

  /**
   * @param rank the rank of the block in its cluster
   */
  BlockRunner(LaunchedKernel launch, Cluster cluster, AsyncCluster asyncs, int rank) {
    var observer = launch.observer(cluster.observer(), rank);
    this.block =
        new Block(
            launch.context(),
            launch.program().code().registers(launch.context().block()),
            observer,
            cluster,
            rank);
    this.async = asyncs.add(block);
    this.pending = asyncs.pending();
    this.code = launch.program().bind(block, async);
    var vectors = Vectors.available();
    this.fused =
        vectors == null
                || observer != null
                || launch.context().options().schedule() != Schedule.CONVERGING
            ? null
            : FusedProducts.in(launch.program().code().instructions(), vectors, block);
    this.warps = new Warp[block.live.length];
    for (int i = 0; i < warps.length; i++) {
      warps[i] = new Warp(i);
    }
    this.observed =
        observer == null
            ? null
            : new ObservedBlock(
                observer, block, warps, code.length, launch.program().code().added());
    this.barriers = new BlockBarriers(block, code, warps, observer);
    this.picker =
        new WarpScheduler(
            launch.context().options().schedule(), launch.context().options().seed(), warps);
    this.program = launch.program();
    this.segments = new CompiledSegments(program, block, async);
    this.waits = new EventWaits(block, code, warps);
  }

  public Block block() {
    return block;
  }

  /** Reuses the runner for another launch of the same shape. */
  public void launch(LaunchedKernel launch) {
    block.launch(launch.context());
    segments.launch();
  }

  /**
   * Starts a block of the grid.
   *
   * @param number the number of the block, x running fastest
   */
  public void begin(long number, Execution how) {
    segments.begin(how);
    interpreted = 0;
    products = 0;
    async.clear();
    block.begin(number);
    picker.begin(number);
    for (var warp : warps) {
      warp.fragments.clear();
      warp.fragments.add(new Fragment(0, block.live[warp.index]));
    }
    barriers.clear();
  }

  /** Notifies the observer that the block has ended. */
  public void end() {
    program.count(interpreted, segments.executed(), products);
    if (observed != null) {
      observed.ended();
    }
  }

  /**
   * Runs every thread until it waits, exits, or has used up its turn; returns whether any thread
   * ran.
   *
   * @throws Fault if a thread did something undefined
   */
  public boolean advance() {
    segments.choose(interpreted);
    for (var warp : warps) {
      for (var fragment : warp.fragments) {
        fragment.spent = false;
      }
    }
    boolean some = false;
    for (int turns = 0; turns < TURN; turns++) {
      pending.pass();
      var next = picker.next();
      if (next != null) {
        run(next);
        some = true;
      } else if (!waits.wake()) {
        return some;
      }
    }
    // Threads that spin may be waiting for others whose wait is over.
    waits.wakeReady();
    return true;
  }

  /** Notifies the observer that a fault has stopped the launch. */
  void failed(Fault fault) {
    if (observed != null) {
      observed.failed(fault.reports());
    }
  }

  /** Returns whether compiled code executed any of the current block. */
  public boolean ranCompiled() {
    return segments.executed() > 0;
  }

  /** Releases fragments whose wait is limited in time; returns whether there were any. */
  public boolean expire() {
    return waits.expire();
  }

  public boolean isDone() {
    for (var warp : warps) {
      if (!warp.fragments.isEmpty()) {
        return false;
      }
    }
    return true;
  }

  private void run(Warp warp) {
    var fragment = picker.of(warp);
    int first = warp.index;
    int end = first + 1;
    Gang gang;
    if (warp.isWhole()) {
      while (picker.formsGangs() && end < warps.length && warps[end].isRunnableAt(fragment.pc)) {
        end++;
      }
      gang = Gang.ofWarps(block, warps, first, end);
    } else {
      gang = Gang.ofFragment(block, warps, first, fragment);
    }
    advance(gang, fragment.pc);
    if (observed != null) {
      observed.pause();
    }
    for (int i = first; i < end; i++) {
      warps[i].merge(picker.keepsApart());
    }
  }

  /** Executes a gang until it diverges or stops. */
  private void advance(Gang gang, int start) {
    int pc = start;
    int limit = picker.meeting(pc);
    int backward = 0;
    for (int turn = picker.turn(); pc < limit && turn > 0; turn--) {
      var segment = segments.at(pc);
      if (segment != null) {
        int to = segments.run(segment, pc, gang);
        if (to == CompiledCode.DIVERGED) {
          gang.diverge(segment, pc);
          return;
        }
        backward += to <= pc ? 1 : 0;
        if (segment.turnEnded || backward >= TURN) {
          gang.yieldAt(to);
          return;
        }
        pc = to;
        continue;
      }
      int together = fused == null || !gang.isWhole() ? 0 : executeFused(fused, pc, gang, limit);
      if (together > 0) {
        pc += together;
        continue;
      }
      interpreted += gang.size();
      var op = code[pc];
      if (op.kind != BoundInstruction.Kind.COLLECTIVE) {
        announce(op, pc, gang);
      }
      switch (op.kind) {
        case STRAIGHT -> gang.execute(op);
        case BRANCH -> {
          switch (gang.guarded(op)) {
            case NONE -> {}
            case SOME -> {
              gang.branch(op, pc);
              return;
            }
            case ALL -> {
              if (op.target <= pc && ++backward >= TURN) {
                gang.yieldAt(op.target);
                return;
              }
              pc = op.target;
              continue;
            }
          }
        }
        case EXIT -> {
          if (gang.guarded(op) != Guarded.NONE) {
            exit(op, pc, gang);
            return;
          }
        }
        case COLLECTIVE -> {
          if (!collect(op, pc, gang)) {
            return;
          }
        }
        case EVENT -> {
          if (waits.await(op, pc, gang)) {
            return;
          }
        }
        case BARRIER -> {
          if (!passes(op, gang)) {
            gang.move(pc);
            arrive(op, gang);
            return;
          }
        }
      }
      pc++;
    }
    gang.move(pc);
  }

  /** Executes the fused products that start here; returns the number of instructions executed. */
  private int executeFused(@Nullable FusedProducts[] all, int pc, Gang gang, int limit) {
    var here = all[pc];
    if (here == null || here.length() > limit - pc || !here.execute(gang.first, gang.end)) {
      return 0;
    }
    products++;
    interpreted += (long) here.length() * gang.size();
    return here.length();
  }

  /** Notifies the observer of an instruction. */
  private void announce(BoundInstruction op, int pc, Gang gang) {
    if (observed != null) {
      observed.announce(op, pc, gang);
    }
  }

  private void exit(BoundInstruction op, int pc, Gang gang) {
    for (int warp = gang.first; warp < gang.end; warp++) {
      var fragment = gang.fragment(warp);
      int chosen = op.chosen(warp, fragment.mask);
      block.live[warp] &= ~chosen;
      async.exit(warp, chosen);
      fragment.mask &= ~chosen;
      fragment.pc = pc + 1;
      if (chosen != 0) {
        warps[warp].exited(fragment);
      }
    }
    block.progress();
    barriers.open();
    block.cluster.barrier().open();
  }

  /**
   * Executes a collective instruction, or makes fragments wait for the rest of their warps.
   *
   * @return whether the gang continues as a whole
   */
  private boolean collect(BoundInstruction op, int pc, Gang gang) {
    if (!gang.isWhole() || gang.guarded(op) != Guarded.ALL) {
      for (int warp = gang.first; warp < gang.end; warp++) {
        collect(op, pc, warps[warp], gang.fragment(warp), gang.isWhole());
      }
      return false;
    }
    var step = (Step.Collective) op.step;
    for (int warp = gang.first; warp < gang.end; warp++) {
      step.needed(warp, block.active[warp]); // checks the member mask
    }
    announce(op, pc, gang);
    step.execute(gang.first, gang.end, true);
    return true;
  }

  private void collect(BoundInstruction op, int pc, Warp warp, Fragment fragment, boolean whole) {
    var step = (Step.Collective) op.step;
    int all = fragment.mask;
    int chosen = op.chosen(warp.index, all);
    fragment.pc = pc + 1;
    if (chosen == 0) {
      return;
    }
    if ((step.needed(warp.index, chosen) & ~chosen) == 0) {
      block.active[warp.index] = chosen;
      if (observed != null) {
        observed.announce(pc, warp.index, all, chosen);
      }
      step.execute(warp.index, warp.index + 1, whole && chosen == all);
      return;
    }
    fragment.pc = pc;
    fragment.wait = Wait.WARP;
    if (chosen != all) {
      warp.split(fragment, all & ~chosen, pc + 1);
    }
  }

  /** Returns whether the threads pass a barrier without waiting. */
  private boolean passes(BoundInstruction op, Gang gang) {
    return switch (gang.guarded(op)) {
      case NONE -> true;
      case SOME -> false;
      case ALL -> gang.isWhole() && barriers.opensAtOnce(op, gang.first, gang.end);
    };
  }

  private void arrive(BoundInstruction op, Gang gang) {
    for (int warp = gang.first; warp < gang.end; warp++) {
      var fragment = gang.fragment(warp);
      int chosen = op.chosen(warp, fragment.mask);
      if (chosen == 0) {
        fragment.pc++;
        continue;
      }
      if (chosen != fragment.mask) {
        if (op.instruction.isAligned()) {
          block.reportViolation(
              Kind.BARRIER_DIVERGENT,
              Warps.firstThread(warp, chosen),
              op.instruction,
              "only lanes 0x%08x of the active lanes 0x%08x take part"
                  .formatted(chosen, fragment.mask),
              "let all threads of the warp execute it, or none");
        }
        warps[warp].split(fragment, fragment.mask & ~chosen, fragment.pc + 1);
      }
      fragment.wait = Wait.WARP;
      barriers.come(warps[warp]);
    }
  }

  /** Returns a report on the first thread that has not exited; empty if all have. */
  public Stream<Report> first(Kind kind, String what) {
    return Arrays.stream(warps)
        .flatMap(warp ->
            warp.fragments.stream()
                .map(fragment ->
                    block.report(
                        kind,
                        Warps.firstThread(warp.index, fragment.mask),
                        code[fragment.pc].instruction,
                        what)))
        .limit(1);
  }

  /**
   * Reports the position of each fragment when no thread of the cluster can make progress.
   *
   * @param jumps the number of backward jumps without effect; 0 = no thread is looping
   */
  public List<Report> stuck(long jumps) {
    return new StuckThreads(block, List.of(code), List.of(warps), barriers).reports(jumps);
  }
}
