package dev.athanor.engine.ptx.check;

import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Modifier;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Semantics.LaneOperation;
import dev.athanor.engine.ptx.Semantics.WarpKind;
import dev.athanor.engine.ptx.SpecialRegister;
import dev.athanor.engine.ptx.Statement;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Warps;
import dev.athanor.engine.ptx.flow.ControlFlow;
import dev.athanor.engine.ptx.flow.DataFlow;
import dev.athanor.engine.ptx.flow.DataFlow.Direction;
import dev.athanor.engine.ptx.flow.DataFlow.Meet;
import dev.athanor.engine.ptx.flow.PostDominators;
import dev.athanor.engine.ptx.flow.RegisterIndex;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Uniformity analysis: the registers that may vary between the lanes of a warp, and the
 * instructions that a warp may execute while it is diverged. A value varies when it depends on a
 * varying value or is written while the warp is diverged. The lanes that a branch separates
 * reconverge at its post-dominator. The manual guarantees none of this; a compiler would assume it
 * of a correct kernel.
 */
final class Uniformity {

  private static final int WARP = Warps.SIZE;

  /**
   * The possible contents of registers before a statement.
   *
   * @param varying the registers that may vary between lanes
   * @param threads the registers that may hold {@code tid.x}
   */
  private record State(BitSet varying, BitSet threads) {

    /** Keeps what the registers may hold on any path. */
    static final Meet<State> UNION =
        new Meet<>() {
          @Override
          public State copy(State state) {
            return new State(
                DataFlow.UNION.copy(state.varying), DataFlow.UNION.copy(state.threads));
          }

          @Override
          public boolean merge(State into, State other) {
            boolean moreVarying = DataFlow.UNION.merge(into.varying, other.varying);
            boolean moreThreads = DataFlow.UNION.merge(into.threads, other.threads);
            return moreVarying || moreThreads;
          }
        };

    void set(int register, boolean varies, boolean thread) {
      varying.set(register, varies);
      threads.set(register, thread);
    }
  }

  private final List<Statement> body;
  private final ControlFlow flow;
  private final RegisterIndex registers;
  private final BitSet diverged = new BitSet();
  private final Map<Integer, BitSet> controlled = new HashMap<>();
  private List<@Nullable State> states = List.of();

  private Uniformity(Kernel code) {
    this.body = code.body();
    this.flow = ControlFlow.of(code);
    var all = new ArrayList<>(code.registers());
    all.add(Register.CARRY);
    this.registers = new RegisterIndex(all);
  }

  static Uniformity of(Kernel code) {
    var uniformity = new Uniformity(code);
    uniformity.findControl();
    uniformity.propagate();
    return uniformity;
  }

  /** Returns the instructions that need a converged warp, but may follow a divergent branch. */
  List<Violation> divergentBarriers() {
    var found = new ArrayList<Violation>();
    for (int at = 0; at < body.size(); at++) {
      if (body.get(at) instanceof Instruction i && diverged.get(at) && i.isAligned()) {
        found.add(
            new Violation(
                i.source(),
                i.toString(),
                "needs a converged warp, but "
                    + body.get(controller(at))
                    + " at "
                    + body.get(controller(at)).source()
                    + " may diverge"));
      }
    }
    return found;
  }

  /** Returns the first varying branch on which a statement is control-dependent. */
  private int controller(int statement) {
    return controlled.entrySet().stream()
        .filter(e -> e.getValue().get(statement) && diverges(e.getKey()))
        .mapToInt(Map.Entry::getKey)
        .min()
        .orElseThrow();
  }

  /** Finds the statements that are control-dependent on each branch. */
  private void findControl() {
    int exit = body.size();
    var dominators = PostDominators.of(flow);
    for (int at = 0; at < exit; at++) {
      var successors = flow.successors(at);
      boolean conditional = body.get(at) instanceof Instruction i && isConditional(i);
      int join = dominators.immediate(at);
      if (!conditional || join < 0) {
        continue;
      }
      var dependent = new BitSet();
      boolean exits = false;
      for (int successor : successors) {
        exits |= onlyExits(successor);
        for (int s = successor; s != join && s != exit && s >= 0; s = dominators.immediate(s)) {
          dependent.set(s);
        }
      }
      // lanes that have exited do not diverge from the others
      exits |=
          body.get(at) instanceof Instruction i && i.form().semantics() instanceof Semantics.Exit;
      if (!exits) {
        controlled.put(at, dependent);
      }
    }
  }

  private static boolean isConditional(Instruction i) {
    return switch (i.form().semantics()) {
      case Semantics.Branch _, Semantics.Exit _ -> i.guard() != null;
      case Semantics.IndexedBranch _ -> true;
      case Semantics.Call _,
          Semantics.RuntimeCall _,
          Semantics.Trap _,
          Semantics.Computation _,
          Semantics.Access _,
          Semantics.Asynchronous _,
          Semantics.Completion _,
          Semantics.Synchronization _,
          Semantics.TensorMapUpdate _,
          Semantics.NoEffect _ ->
          false;
    };
  }

  /** Returns whether a thread does nothing from here on except exit. */
  private boolean onlyExits(int statement) {
    for (int at = statement, steps = 0; steps < body.size(); steps++) {
      if (body.get(at) instanceof Instruction i) {
        boolean jumps = i.form().semantics() instanceof Semantics.Branch && i.guard() == null;
        if (!jumps) {
          return i.form().semantics() instanceof Semantics.Exit && i.guard() == null;
        }
      }
      var successors = flow.successors(at);
      if (successors.size() != 1) {
        return successors.isEmpty();
      }
      at = successors.getFirst();
    }
    return false;
  }

  /**
   * Finds the registers that may vary. The statements that a varying branch controls may make
   * further branches vary, so that this repeats until no branch is added.
   */
  private void propagate() {
    var entry = new BitSet();
    entry.set(0, Math.min(1, body.size()));
    var problem =
        new DataFlow<State>(
            flow,
            Direction.FORWARD,
            State.UNION,
            (at, state) -> {
              if (body.get(at) instanceof Instruction i) {
                write(i, State.UNION.copy(state), state, diverged.get(at));
              }
            });
    for (int before = -1; before != diverged.cardinality(); ) {
      before = diverged.cardinality();
      states = problem.solve(entry, new State(new BitSet(), new BitSet()));
      controlled.forEach((branch, dependent) -> {
        if (diverges(branch)) {
          diverged.or(dependent);
        }
      });
    }
  }

  private void write(Instruction i, State before, State after, boolean apart) {
    boolean guarded = i.guard() != null && varies(i.guard().predicate(), before);
    boolean copies =
        i.form().semantics() instanceof Semantics.Pure pure
            && pure.operation() == LaneOperation.MOVE
            && i.operands().getFirst() instanceof Register;
    boolean thread =
        copies
            && (i.operands().getLast() == SpecialRegister.TID_X
                || (i.operands().getLast() instanceof Register r
                    && before.threads.get(number(r))
                    && !before.varying.get(number(r))));
    boolean varying = apart || guarded || (!thread && makesVarying(i, before));
    var written = new ArrayList<>(i.writes());
    written.addAll(i.form().impliedRegisters(true));
    for (var register : written) {
      int number = number(register);
      if (i.guard() == null) {
        after.set(number, varying, thread);
      } else if (varying || thread) {
        after.set(
            number, varying || before.varying.get(number), thread || before.threads.get(number));
      }
    }
  }

  private int number(Register register) {
    return registers.number(register);
  }

  private boolean varies(Register register, State state) {
    return state.varying.get(number(register)) || state.threads.get(number(register));
  }

  /** Returns whether a warp may diverge at a branch. */
  private boolean diverges(int at) {
    var state = states.get(at);
    return state != null
        && controlled.containsKey(at)
        && ((Instruction) body.get(at)).reads().stream().anyMatch(r -> varies(r, state));
  }

  /** Returns whether an instruction that all lanes execute may give them different results. */
  private boolean makesVarying(Instruction i, State state) {
    boolean reads =
        i.reads().stream().anyMatch(r -> varies(r, state))
            || i.form().impliedRegisters(false).stream().anyMatch(r -> varies(r, state));
    return switch (i.form().semantics()) {
      case Semantics.Pure pure ->
          (reads && !evensOut(pure.operation(), i, state))
              || i.operands().stream().anyMatch(Uniformity::differs);
      case Semantics.Load _ -> reads;
      case Semantics.Warp warp -> !answersAlike(warp.kind(), i, state);
      case Semantics.Barrier _ -> false;
      case Semantics.Converged _,
          Semantics.ClusterRank _,
          Semantics.Store _,
          Semantics.Atomic _,
          Semantics.LoadMatrix _,
          Semantics.StoreMatrix _,
          Semantics.LoadTile _,
          Semantics.StoreTile _,
          Semantics.Asynchronous _,
          Semantics.Completion _,
          Semantics.Fence _,
          Semantics.WarpBarrier _,
          Semantics.ClusterArrive _,
          Semantics.ClusterWait _,
          Semantics.AwaitPreviousGrid _,
          Semantics.LaunchDependents _,
          Semantics.TensorMapUpdate _,
          Semantics.Control _,
          Semantics.NoEffect _ ->
          true;
    };
  }

  private static boolean differs(Operand operand) {
    return switch (operand) {
      case SpecialRegister s ->
          s == SpecialRegister.LANEID
              || s.name().startsWith("TID")
              || s.name().startsWith("LANEMASK")
              || s.name().startsWith("CLOCK");
      default -> false;
    };
  }

  /**
   * Returns whether all lanes get the same result: by votes, {@code match.all}, reductions, or
   * shuffles from one lane.
   */
  private boolean answersAlike(WarpKind kind, Instruction i, State state) {
    return switch (kind) {
      case VOTE, REDUCTION -> true;
      case SHUFFLE ->
          i.modifiers().has("idx")
              && !(i.operands().get(2) instanceof Register r && varies(r, state))
              && i.operands().get(3) instanceof Operand.Immediate c
              && c.bits() == WARP - 1;
      case MATRIX_PRODUCT, TRANSPOSE, MATCH, ELECTION, PRODUCT_FENCE, REGISTER_COUNT -> false;
    };
  }

  /**
   * Returns whether the result is uniform although {@code tid.x} varies: the number of the warp, or
   * a comparison of {@code tid.x} with a multiple of 32. The threads of a warp have consecutive
   * numbers, so this holds if the width of a block is a multiple of 32.
   */
  private boolean evensOut(LaneOperation operation, Instruction i, State state) {
    var operands = i.operands();
    if (operands.size() < 3
        || !(operands.get(1) instanceof Register a && !state.varying.get(number(a)))
        || !(operands.get(2) instanceof Operand.Immediate b)) {
      return false;
    }
    return switch (operation) {
      case SHIFT_RIGHT -> b.bits() >= 5;
      case DIVISION -> b.bits() % WARP == 0;
      case BITWISE_AND -> (b.bits() & (WARP - 1)) == 0;
      case COMPARISON ->
          operands.size() == 3
              && i.modifiers()
                  .find(Modifier.Comparison.class)
                  .map(c ->
                      switch (c) {
                        case LT, GE, LO, HS -> b.bits() % WARP == 0;
                        case GT, LE, HI, LS -> b.bits() % WARP == WARP - 1;
                        default -> false;
                      })
                  .orElseThrow();
      case MOVE,
          ADDRESS,
          CONVERSION,
          ARITHMETIC,
          MULTIPLY_ADD,
          SPECIAL,
          MIN_MAX,
          CLASSIFICATION,
          BITWISE,
          SELECTION,
          OTHER ->
          false;
    };
  }
}
