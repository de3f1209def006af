package dev.athanor.vulkan.flow;

import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.SpecialRegister;
import dev.athanor.engine.ptx.Statement.Instruction;
import java.util.BitSet;
import java.util.HashSet;
import java.util.Set;

/**
 * The basic blocks that threads of a block may execute apart from each other, because a branch
 * before depends on the thread.
 */
public final class BlockUniformity {

  private final ControlGraph graph;
  private final int[] postDominators;
  private final Set<Register> varying = new HashSet<>();
  private final BitSet divergent = new BitSet();

  private BlockUniformity(ControlGraph graph) {
    this.graph = graph;
    this.postDominators = postDominators();
  }

  /** Returns the divergent blocks. */
  public static BitSet divergent(ControlGraph graph) {
    var uniformity = new BlockUniformity(graph);
    while (uniformity.propagate()) {}
    return uniformity.divergent;
  }

  private boolean propagate() {
    boolean changed = false;
    for (int block : graph.reachable()) {
      for (var instruction : graph.block(block).code()) {
        if (divergent.get(block) || varies(instruction)) {
          changed |= varying.addAll(instruction.writes());
          changed |= varying.addAll(instruction.form().impliedRegisters(true));
        }
      }
      var condition = graph.block(block).condition();
      if (condition != null && (divergent.get(block) || varying.contains(condition.predicate()))) {
        changed |= diverge(block);
      }
    }
    return changed;
  }

  /** Marks the blocks that depend on the branch at the end of a block. */
  private boolean diverge(int block) {
    int before = divergent.cardinality();
    for (int next : graph.block(block).successors()) {
      for (int at = next; at >= 0 && at < graph.size() && at != postDominators[block]; ) {
        divergent.set(at);
        at = postDominators[at];
      }
    }
    return divergent.cardinality() > before;
  }

  private boolean varies(Instruction instruction) {
    return instruction.reads().stream().anyMatch(varying::contains)
        || instruction.form().impliedRegisters(false).stream().anyMatch(varying::contains)
        || instruction.operands().stream().anyMatch(BlockUniformity::varies)
        || switch (instruction.form().semantics()) {
          case Semantics.Warp _, Semantics.Converged _, Semantics.Atomic _ -> true;
          case Semantics.Load _ ->
              instruction.modifiers().find(Space.class).orElse(Space.GLOBAL) == Space.LOCAL;
          default -> false;
        };
  }

  private static boolean varies(Operand operand) {
    return operand instanceof SpecialRegister special
        && switch (special) {
          case NTID_X, NTID_Y, NTID_Z, CTAID_X, CTAID_Y, CTAID_Z, NCTAID_X, NCTAID_Y, NCTAID_Z ->
              false;
          default -> true;
        };
  }

  /** Returns the immediate post-dominators; the end is numbered {@link ControlGraph#size()}. */
  private int[] postDominators() {
    int end = graph.size();
    var sets = new BitSet[end + 1];
    for (int i = 0; i <= end; i++) {
      sets[i] = new BitSet();
      sets[i].set(0, end + 1);
    }
    sets[end].clear(0, end);
    for (boolean changed = true; changed; ) {
      changed = false;
      for (int block : graph.reachable().reversed()) {
        var common = new BitSet();
        common.set(0, end + 1);
        for (int next : graph.block(block).successors()) {
          common.and(sets[next == ControlGraph.EXIT ? end : next]);
        }
        common.set(block);
        changed |= !common.equals(sets[block]);
        sets[block] = common;
      }
    }
    var immediate = new int[end];
    for (int block = 0; block < end; block++) {
      int count = sets[block].cardinality();
      immediate[block] =
          sets[block].stream()
              .filter(other -> sets[other].cardinality() == count - 1)
              .findFirst()
              .orElse(end);
    }
    return immediate;
  }
}
