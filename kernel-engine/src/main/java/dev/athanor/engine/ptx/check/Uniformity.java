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
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * Which registers may differ between the lanes of a warp, and which instructions some lanes of a
 * warp may execute without the others. A value differs when it is made from one that does, or where
 * lanes have parted; where the lanes of a warp part at a branch, they meet again at its
 * post-dominator. The manual promises neither, so that this is what a compiler would assume of a
 * kernel that is right.
 */
final class Uniformity {

  private static final int WARP = 32;

  /**
   * What may be in the registers before a statement: in {@code threads}, the number of the thread
   * in x; in {@code varying}, something else that differs between lanes.
   */
  private record State(BitSet varying, BitSet threads) {
    State copy() {
      return new State((BitSet) varying.clone(), (BitSet) threads.clone());
    }

    /** Adds what may be there on another way; answers whether that is more. */
    boolean add(State other) {
      int before = varying.cardinality() + threads.cardinality();
      varying.or(other.varying);
      threads.or(other.threads);
      return varying.cardinality() + threads.cardinality() != before;
    }

    void set(int register, boolean varies, boolean thread) {
      varying.set(register, varies);
      threads.set(register, thread);
    }
  }

  private final List<Statement> body;
  private final ControlFlow flow;
  private final Map<Register, Integer> numbers = new HashMap<>();
  private final State[] states;
  private final BitSet parted = new BitSet();
  private final Map<Integer, BitSet> controlled = new HashMap<>();

  private Uniformity(Kernel code) {
    this.body = code.body();
    this.flow = ControlFlow.of(code);
    this.states = new State[body.size()];
    code.registers().forEach(r -> numbers.put(r, numbers.size()));
    numbers.put(Register.CARRY, numbers.size());
    if (!body.isEmpty()) {
      states[0] = new State(new BitSet(), new BitSet());
    }
  }

  static Uniformity of(Kernel code) {
    var uniformity = new Uniformity(code);
    uniformity.findControl();
    uniformity.propagate();
    return uniformity;
  }

  /** The instructions that whole warps have to execute, but only some lanes may. */
  List<Violation> partedBarriers() {
    var found = new ArrayList<Violation>();
    for (int at = 0; at < body.size(); at++) {
      if (body.get(at) instanceof Instruction i && parted.get(at) && i.isAligned()) {
        found.add(
            new Violation(
                i.source(),
                i.toString(),
                "is executed by whole warps, but "
                    + body.get(controller(at))
                    + " at "
                    + body.get(controller(at)).source()
                    + " may part the lanes of one"));
      }
    }
    return found;
  }

  /** The first varying branch that decides whether a statement is executed. */
  private int controller(int statement) {
    return controlled.entrySet().stream()
        .filter(e -> e.getValue().get(statement) && parts(e.getKey()))
        .mapToInt(Map.Entry::getKey)
        .min()
        .orElseThrow();
  }

  /** For each statement with several successors, those that it decides on. */
  private void findControl() {
    int exit = body.size();
    int[] next = immediatePostDominators(exit);
    for (int at = 0; at < exit; at++) {
      var successors = flow.successors(at);
      boolean conditional = body.get(at) instanceof Instruction i && isConditional(i);
      if (!conditional || next[at] < 0) {
        continue;
      }
      var decided = new BitSet();
      boolean leaves = false;
      for (int successor : successors) {
        leaves |= onlyLeaves(successor);
        for (int s = successor; s != next[at] && s != exit && s >= 0; s = next[s]) {
          decided.set(s);
        }
      }
      // lanes that are gone do not part from those that stay
      leaves |=
          body.get(at) instanceof Instruction i && i.form().semantics() instanceof Semantics.Exit;
      if (!leaves) {
        controlled.put(at, decided);
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

  /** Whether the thread ends from here on without doing anything. */
  private boolean onlyLeaves(int statement) {
    for (int at = statement, steps = 0; steps < body.size(); steps++) {
      if (body.get(at) instanceof Instruction i) {
        boolean goesOn = i.form().semantics() instanceof Semantics.Branch && i.guard() == null;
        if (!goesOn) {
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
   * For each statement the next one that all ways to the end pass; the end is numbered behind the
   * last statement. (Cooper, Harvey, Kennedy: A Simple, Fast Dominance Algorithm, 2001, on the
   * reversed graph.) Statements that never reach the end have -1.
   */
  private int[] immediatePostDominators(int exit) {
    var before = new ArrayList<List<Integer>>();
    for (int i = 0; i <= exit; i++) {
      before.add(new ArrayList<>());
    }
    for (int at = 0; at < exit; at++) {
      for (int successor : successors(at, exit)) {
        before.get(successor).add(at);
      }
    }
    int[] order = new int[exit + 1];
    var visited = new BitSet();
    var postorder = new ArrayList<Integer>();
    var stack = new java.util.ArrayDeque<int[]>();
    stack.push(new int[] {exit, 0});
    visited.set(exit);
    while (!stack.isEmpty()) {
      var top = stack.getFirst();
      var sources = before.get(top[0]);
      if (top[1] == sources.size()) {
        order[top[0]] = postorder.size();
        postorder.add(top[0]);
        stack.pop();
      } else {
        int source = sources.get(top[1]++);
        if (!visited.get(source)) {
          visited.set(source);
          stack.push(new int[] {source, 0});
        }
      }
    }
    int[] next = new int[exit + 1];
    java.util.Arrays.fill(next, -1);
    next[exit] = exit;
    for (boolean changed = true; changed; ) {
      changed = false;
      for (int at : postorder.reversed()) {
        if (at == exit) {
          continue;
        }
        int meet = -1;
        for (int successor : successors(at, exit)) {
          if (next[successor] >= 0) {
            meet = meet < 0 ? successor : meet(meet, successor, next, order);
          }
        }
        if (meet != next[at]) {
          next[at] = meet;
          changed = true;
        }
      }
    }
    return next;
  }

  private List<Integer> successors(int at, int exit) {
    var successors = flow.successors(at);
    boolean mayEnd =
        successors.isEmpty()
            || at == exit - 1
            || (body.get(at) instanceof Instruction i
                && i.form().semantics() instanceof Semantics.Exit);
    if (!mayEnd) {
      return successors;
    }
    var all = new ArrayList<>(successors);
    all.add(exit);
    return all;
  }

  private static int meet(int a, int b, int[] next, int[] order) {
    int left = a;
    int right = b;
    while (left != right) {
      while (order[left] < order[right]) {
        left = next[left];
      }
      while (order[right] < order[left]) {
        right = next[right];
      }
    }
    return left;
  }

  private void propagate() {
    for (boolean changed = true; changed; ) {
      changed = false;
      for (int at = 0; at < body.size(); at++) {
        if (states[at] == null) {
          continue;
        }
        var after = states[at].copy();
        if (body.get(at) instanceof Instruction i) {
          if (parts(at)) {
            int before = parted.cardinality();
            parted.or(Objects.requireNonNull(controlled.get(at)));
            changed |= parted.cardinality() != before;
          }
          write(i, states[at], after, parted.get(at));
        }
        for (int successor : flow.successors(at)) {
          if (states[successor] == null) {
            states[successor] = after.copy();
            changed = true;
          } else {
            changed |= states[successor].add(after);
          }
        }
      }
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
    written.addAll(i.form().implied(true));
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
    return Objects.requireNonNull(numbers.get(register), register::toString);
  }

  private boolean varies(Register register, State state) {
    return state.varying.get(number(register)) || state.threads.get(number(register));
  }

  /** Whether the lanes may go different ways at a branch. */
  private boolean parts(int at) {
    var state = states[at];
    return state != null
        && controlled.containsKey(at)
        && ((Instruction) body.get(at)).reads().stream().anyMatch(r -> varies(r, state));
  }

  /** Whether an instruction that all lanes execute may give them different results. */
  private boolean makesVarying(Instruction i, State state) {
    boolean reads =
        i.reads().stream().anyMatch(r -> varies(r, state))
            || i.form().implied(false).stream().anyMatch(r -> varies(r, state));
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

  /** Votes, matches of all, reductions, and shuffles from one lane. */
  private boolean answersAlike(WarpKind kind, Instruction i, State state) {
    return switch (kind) {
      case VOTE, REDUCTION -> true;
      case SHUFFLE ->
          i.modifiers().has("idx")
              && !(i.operands().get(2) instanceof Register r && varies(r, state))
              && i.operands().get(3) instanceof Operand.Immediate c
              && c.bits() == WARP - 1;
      case MATRIX_PRODUCT, TRANSPOSITION, MATCH, ELECTION, PRODUCT_FENCE, REGISTER_COUNT -> false;
    };
  }

  /**
   * Whether an instruction takes away what differs within a warp: the number of the warp, or a
   * comparison of the thread's number with a multiple of 32. Warps are made of threads of
   * consecutive numbers, which is {@code tid.x} where blocks are 32 threads wide.
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
      case MASK -> (b.bits() & (WARP - 1)) == 0;
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
      case MOVE, ADDRESS, CONVERSION, ARITHMETIC, MULTIPLY_ADD, SPECIAL, EXTREMUM, BITWISE, OTHER ->
          false;
    };
  }
}
