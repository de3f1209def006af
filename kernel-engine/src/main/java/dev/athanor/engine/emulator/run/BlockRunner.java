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
import dev.athanor.engine.emulator.run.ThreadPositions.Fragment;
import dev.athanor.engine.emulator.run.ThreadPositions.Wait;
import dev.athanor.engine.emulator.run.ThreadPositions.Warp;
import dev.athanor.engine.emulator.step.Block;
import dev.athanor.engine.emulator.step.BoundInstruction;
import dev.athanor.engine.emulator.step.Cluster;
import dev.athanor.engine.emulator.step.Step;
import dev.athanor.engine.emulator.step.Vectors;
import dev.athanor.engine.emulator.watch.Observer;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.function.Consumer;
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

  private static final BitSet NOWHERE = new BitSet();

  private final Block block;
  private final BoundInstruction[] code;
  private final Warp[] warps;
  private final BlockBarriers barriers;
  private final WarpScheduler picker;
  private final @Nullable Observer observer;
  private final LoadedProgram program;
  private final AsyncState async;
  private final PendingOperations pending;

  /** The execution mode of the current block. */
  private Execution execution = Execution.INTERPRETED;

  private @Nullable CompiledCode compiled;

  /** The instructions at which compiled segments begin; empty while the block is interpreted. */
  private BitSet starts = NOWHERE;

  /** Interpreted warp instructions of the current block. */
  private long interpreted;

  /** Whether compiled code bailed out, so that the rest of the block is interpreted. */
  private boolean departed;

  /** Executed segments of compiled code in the current block. */
  private long segments;

  /** Executions of {@link FusedProducts} in the current block. */
  private long products;

  /** Fused products by their first instruction; null = none. */
  private final @Nullable FusedProducts @Nullable [] fused;

  /** Whether the observer wants to know of each instruction. */
  private final boolean[] watched;

  /**
   * @param rank the rank of the block in its cluster
   */
  BlockRunner(LaunchedKernel launch, Cluster cluster, AsyncCluster asyncs, int rank) {
    this.observer = launch.observer(cluster.observer(), rank);
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
    this.watched = new boolean[code.length];
    for (int i = 0; observer != null && i < watched.length; i++) {
      watched[i] = observer.watches(i) && !launch.program().code().added().contains(i);
    }
    this.warps = new Warp[block.live.length];
    for (int i = 0; i < warps.length; i++) {
      warps[i] = new Warp(i);
    }
    this.barriers = new BlockBarriers(block, code, warps, observer);
    this.picker =
        new WarpScheduler(
            launch.context().options().schedule(), launch.context().options().seed(), warps);
    this.program = launch.program();
  }

  public Block block() {
    return block;
  }

  /** Reuses the runner for another launch of the same shape. */
  public void launch(LaunchedKernel launch) {
    block.launch(launch.context());
    compiled = null; // it caches memory locations
  }

  /**
   * Starts a block of the grid.
   *
   * @param number the number of the block, x running fastest
   */
  public void begin(long number, Execution how) {
    execution = how;
    starts = NOWHERE;
    departed = false;
    interpreted = 0;
    segments = 0;
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
    program.count(interpreted, segments, products);
    if (observer != null) {
      observer.end();
    }
  }

  /**
   * Runs every thread until it waits, exits, or has used up its turn; returns whether any thread
   * ran.
   *
   * @throws Fault if a thread did something undefined
   */
  public boolean advance() {
    chooseCode();
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
      } else if (!wake()) {
        return some;
      }
    }
    // Threads that spin may be waiting for others whose wait is over.
    wakeReady();
    return true;
  }

  /** Switches to compiled code where it is wanted and pays. */
  private void chooseCode() {
    boolean wanted =
        switch (execution) {
          case INTERPRETED -> false;
          case COMPILED -> true;
          case TIERED -> program.isHot(interpreted);
        };
    if (wanted && !departed) {
      var made = program.compiled(block, async, execution == Execution.COMPILED);
      compiled = compiled == null ? made.bind(block) : compiled;
      starts = made.starts();
    }
  }

  /** Returns whether compiled code executed any of the current block. */
  public boolean ranCompiled() {
    return segments > 0;
  }

  /** Releases fragments whose event has happened; returns whether there were any. */
  private boolean wakeReady() {
    return waiting(Step.Event::isReady, fragment -> fragment.wait = Wait.NONE);
  }

  /**
   * Releases fragments whose event has happened, completing pending operations if necessary;
   * returns whether any fragment was released.
   */
  private boolean wake() {
    while (!wakeReady()) {
      if (!waiting(Step.Event::hasten, _ -> {})) {
        return false;
      }
    }
    return true;
  }

  /** Releases fragments whose wait is limited in time; returns whether there were any. */
  public boolean expire() {
    return waiting(
        (step, _, _) -> step.expires(),
        fragment -> {
          fragment.wait = Wait.NONE;
          fragment.expired = true;
        });
  }

  /** A predicate over the lanes of a warp that wait for an event. */
  @FunctionalInterface
  private interface Condition {
    boolean holds(Step.Event step, int warp, int mask);
  }

  /**
   * Applies an action to the waiting fragments that satisfy a condition; returns whether there were
   * any.
   */
  private boolean waiting(Condition condition, Consumer<Fragment> action) {
    boolean some = false;
    for (var warp : warps) {
      for (var fragment : warp.fragments) {
        if (fragment.wait == Wait.EVENT) {
          var op = code[fragment.pc];
          int chosen = op.chosen(warp.index, fragment.mask);
          if (condition.holds((Step.Event) op.step, warp.index, chosen)) {
            action.accept(fragment);
            some = true;
          }
        }
      }
    }
    return some;
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
    boolean whole = warp.isWhole();
    if (whole) {
      while (picker.formsGangs() && end < warps.length && warps[end].isRunnableAt(fragment.pc)) {
        end++;
      }
      for (int i = first; i < end; i++) {
        block.active[i] = warps[i].fragments.getFirst().mask;
      }
    } else {
      block.active[first] = fragment.mask;
    }
    advance(fragment, first, end, whole);
    for (int i = first; i < end; i++) {
      warps[i].merge(picker.keepsApart());
    }
  }

  /** Executes a gang of whole warps, or one fragment, until it diverges or stops. */
  private void advance(Fragment fragment, int first, int end, boolean whole) {
    int pc = fragment.pc;
    int limit = picker.meeting(pc);
    int backward = 0;
    for (int turn = picker.turn(); pc < limit && turn > 0; turn--) {
      if (compiled != null && starts.get(pc)) {
        int to = runCompiled(compiled, pc, first, end);
        if (to == CompiledCode.DIVERGED) {
          part(compiled, pc, fragment, first, end, whole);
          return;
        }
        backward += to <= pc ? 1 : 0;
        if (compiled.turnEnded || backward >= TURN) {
          move(to, fragment, first, end, whole);
          spend(fragment, first, end, whole);
          return;
        }
        pc = to;
        continue;
      }
      int together = fused == null || !whole ? 0 : executeFused(fused, pc, first, end, limit);
      if (together > 0) {
        pc += together;
        continue;
      }
      interpreted += end - first;
      var op = code[pc];
      if (observer != null && op.kind != BoundInstruction.Kind.COLLECTIVE && watched[pc]) {
        announce(observer, op, pc, first, end);
      }
      switch (op.kind) {
        case STRAIGHT -> {
          execute(op, first, end, whole);
          pc++;
        }
        case BRANCH -> {
          int chosen = chosen(op, first, end);
          if (chosen == MIXED) {
            branch(op, pc, fragment, first, end, whole);
            return;
          }
          if (chosen == NOBODY) {
            pc++;
          } else if (op.target > pc || ++backward < TURN) {
            pc = op.target;
          } else {
            move(op.target, fragment, first, end, whole);
            spend(fragment, first, end, whole);
            return;
          }
        }
        case EXIT -> {
          if (chosen(op, first, end) != NOBODY) {
            exit(op, pc, fragment, first, end, whole);
            return;
          }
          pc++;
        }
        case COLLECTIVE -> {
          if (!whole || chosen(op, first, end) != EVERYBODY) {
            for (int warp = first; warp < end; warp++) {
              collect(op, pc, warps[warp], fragment(fragment, warp, whole), whole);
            }
            return;
          }
          check(op, first, end);
          if (observer != null && watched[pc]) {
            announce(observer, op, pc, first, end);
          }
          op.step.execute(first, end, true);
          pc++;
        }
        case EVENT -> {
          if (await(op, pc, fragment, first, end, whole)) {
            return;
          }
          pc++;
        }
        case BARRIER -> {
          if (!passes(op, first, end, whole)) {
            move(pc, fragment, first, end, whole);
            arrive(op, fragment, first, end, whole);
            return;
          }
          pc++;
        }
      }
    }
    move(pc, fragment, first, end, whole);
  }

  /** Executes the fused products that start here; returns the number of instructions executed. */
  private int executeFused(@Nullable FusedProducts[] all, int pc, int first, int end, int limit) {
    var here = all[pc];
    if (here == null || here.length() > limit - pc || !here.execute(first, end)) {
      return 0;
    }
    products++;
    interpreted += (long) here.length() * (end - first);
    return here.length();
  }

  private int runCompiled(CompiledCode code, int pc, int first, int end) {
    segments++;
    code.turnEnded = false;
    code.bailedOut = false;
    int to = code.run(pc, first, end);
    if (code.bailedOut) {
      departed = true;
      starts = NOWHERE;
    }
    return to;
  }

  private void announce(Observer to, BoundInstruction op, int pc, int first, int end) {
    for (int warp = first; warp < end; warp++) {
      to.execute(pc, warp, block.active[warp], op.chosen(warp, block.active[warp]));
    }
  }

  private static final int NOBODY = 0;
  private static final int EVERYBODY = 1;
  private static final int MIXED = 2;

  /** Evaluates the guard of an instruction for the active threads: none, all, or some. */
  private int chosen(BoundInstruction op, int first, int end) {
    if (op.guard == null) {
      return EVERYBODY;
    }
    boolean some = false;
    boolean others = false;
    for (int warp = first; warp < end; warp++) {
      int chosen = op.chosen(warp, block.active[warp]);
      some |= chosen != 0;
      others |= chosen != block.active[warp];
    }
    return some ? others ? MIXED : EVERYBODY : NOBODY;
  }

  private void execute(BoundInstruction op, int first, int end, boolean whole) {
    switch (chosen(op, first, end)) {
      case EVERYBODY -> op.step.execute(first, end, whole);
      case MIXED -> {
        for (int warp = first; warp < end; warp++) {
          int all = block.active[warp];
          int chosen = op.chosen(warp, all);
          if (chosen != 0) {
            block.active[warp] = chosen;
            op.step.execute(warp, warp + 1, whole && chosen == all);
            block.active[warp] = all;
          }
        }
      }
      default -> {} // no thread executes it
    }
  }

  private void move(int pc, Fragment fragment, int first, int end, boolean whole) {
    if (!whole) {
      fragment.pc = pc;
      return;
    }
    for (int warp = first; warp < end; warp++) {
      warps[warp].fragments.getFirst().pc = pc;
    }
  }

  private void spend(Fragment fragment, int first, int end, boolean whole) {
    for (int warp = first; warp < end; warp++) {
      (whole ? warps[warp].fragments.getFirst() : fragment).spent = true;
    }
  }

  private Fragment fragment(Fragment single, int warp, boolean whole) {
    return whole ? warps[warp].fragments.getFirst() : single;
  }

  private void branch(
      BoundInstruction op, int pc, Fragment single, int first, int end, boolean whole) {
    for (int warp = first; warp < end; warp++) {
      var fragment = fragment(single, warp, whole);
      int chosen = op.chosen(warp, fragment.mask);
      if (chosen == fragment.mask) {
        fragment.pc = op.target;
      } else {
        if (chosen != 0 && op.instruction.modifiers().has("uni")) {
          throw block.fault(
              Kind.DIVERGENT_UNIFORM,
              32 * warp + Integer.numberOfTrailingZeros(chosen),
              op.instruction,
              "threads of one warp take different branches");
        }
        fragment.pc = pc + 1;
        if (chosen != 0) {
          warps[warp].split(fragment, chosen, op.target);
        }
      }
    }
  }

  /** Moves each thread to the instruction at which compiled code left it. */
  private void part(
      CompiledCode left, int start, Fragment single, int first, int end, boolean whole) {
    int[] exits = left.exits;
    for (int warp = first; warp < end; warp++) {
      var fragment = fragment(single, warp, whole);
      for (int rest = fragment.mask; rest != 0; ) {
        int pc = exits[32 * warp + Integer.numberOfTrailingZeros(rest)];
        int together = 0;
        for (int mask = rest; mask != 0; mask &= mask - 1) {
          if (exits[32 * warp + Integer.numberOfTrailingZeros(mask)] == pc) {
            together |= Integer.lowestOneBit(mask);
          }
        }
        rest &= ~together;
        if (rest == 0) {
          fragment.pc = pc;
          fragment.spent = left.turnEnded && pc <= start;
        } else {
          warps[warp].split(fragment, together, pc);
          warps[warp].fragments.getLast().spent = left.turnEnded && pc <= start;
        }
      }
    }
  }

  private void exit(
      BoundInstruction op, int pc, Fragment single, int first, int end, boolean whole) {
    for (int warp = first; warp < end; warp++) {
      var fragment = fragment(single, warp, whole);
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

  /** Checks that the active threads may execute a collective instruction. */
  private void check(BoundInstruction op, int first, int end) {
    var step = (Step.Collective) op.step;
    for (int warp = first; warp < end; warp++) {
      step.needed(warp, block.active[warp]);
    }
  }

  /**
   * Executes a collective instruction for a fragment, or makes the fragment wait for the rest of
   * the warp.
   */
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
      if (observer != null && watched[pc]) {
        observer.execute(pc, warp.index, all, chosen);
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

  /** Makes fragments wait whose event has not happened; returns whether there are any. */
  private boolean await(
      BoundInstruction op, int pc, Fragment single, int first, int end, boolean whole) {
    var step = (Step.Event) op.step;
    boolean parts = false;
    for (int warp = first; warp < end; warp++) {
      int chosen = op.chosen(warp, block.active[warp]);
      parts |= !isReady(step, fragment(single, warp, whole), warp, chosen);
    }
    if (!parts) {
      for (int warp = first; warp < end; warp++) {
        fragment(single, warp, whole).expired = false;
      }
      execute(op, first, end, whole);
      return false;
    }
    for (int warp = first; warp < end; warp++) {
      var fragment = fragment(single, warp, whole);
      int chosen = op.chosen(warp, fragment.mask);
      if (isReady(step, fragment, warp, chosen)) {
        fragment.expired = false;
        execute(op, warp, warp + 1, whole);
        fragment.pc = pc + 1;
      } else {
        fragment.pc = pc;
        fragment.wait = Wait.EVENT;
        if (chosen != fragment.mask) {
          warps[warp].split(fragment, fragment.mask & ~chosen, pc + 1);
        }
      }
    }
    return true;
  }

  private static boolean isReady(Step.Event step, Fragment fragment, int warp, int mask) {
    return mask == 0 || fragment.expired || step.isReady(warp, mask);
  }

  /** Returns whether the threads pass a barrier without waiting. */
  private boolean passes(BoundInstruction op, int first, int end, boolean whole) {
    int chosen = chosen(op, first, end);
    return chosen == EVERYBODY ? whole && barriers.opensAtOnce(op, first, end) : chosen == NOBODY;
  }

  private void arrive(BoundInstruction op, Fragment single, int first, int end, boolean whole) {
    for (int warp = first; warp < end; warp++) {
      var fragment = fragment(single, warp, whole);
      int chosen = op.chosen(warp, fragment.mask);
      if (chosen == 0) {
        fragment.pc++;
        continue;
      }
      if (chosen != fragment.mask) {
        if (op.instruction.isAligned()) {
          block.complain(
              Kind.BARRIER_DIVERGENT,
              32 * warp + Integer.numberOfTrailingZeros(chosen),
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
                        32 * warp.index + Integer.numberOfTrailingZeros(fragment.mask),
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
