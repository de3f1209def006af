package dev.athanor.engine.analysis.sass;

import dev.athanor.engine.analysis.sass.SassInstruction.Branch;
import dev.athanor.engine.analysis.sass.SassInstruction.End;
import dev.athanor.engine.analysis.sass.SassInstruction.Indirect;
import dev.athanor.engine.analysis.sass.SassInstruction.Next;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Set;

/**
 * The basic blocks of a section of code, in the order of their addresses, and the branches between
 * them. Calls continue behind themselves; {@code BSYNC} does too, since ptxas places it directly
 * before the instruction at which the threads converge.
 */
final class FlowGraph {

  /**
   * Instructions that execute one after the other.
   *
   * @param successors the numbers of the blocks that can follow
   */
  record BasicBlock(List<SassInstruction> instructions, List<Integer> successors) {

    int start() {
      return instructions.getFirst().address();
    }

    /** Returns the address behind the last instruction. */
    int end() {
      return instructions.getLast().address() + SassInstruction.BYTES;
    }
  }

  private final List<BasicBlock> blocks;
  private final List<Integer> entries;

  /**
   * Divides code into blocks.
   *
   * @param entryAddresses where functions start
   */
  FlowGraph(List<SassInstruction> code, Set<Integer> entryAddresses) {
    var starts = new BitSet();
    starts.set(0);
    entryAddresses.forEach(address -> starts.set(address / SassInstruction.BYTES));
    for (int i = 0; i < code.size(); i++) {
      if (code.get(i).flow() instanceof Branch branch) {
        starts.set(branch.target() / SassInstruction.BYTES);
      }
      if (!(code.get(i).flow() instanceof Next)) {
        starts.set(i + 1);
      }
    }
    starts.clear(code.size(), Math.max(starts.length(), code.size()));
    var made = new ArrayList<BasicBlock>();
    for (int start = starts.nextSetBit(0); start >= 0; ) {
      int next = starts.nextSetBit(start + 1);
      int end = next < 0 ? code.size() : next;
      var successors = new ArrayList<Integer>();
      var flow = code.get(end - 1).flow();
      if (flow instanceof Branch branch) {
        successors.add(number(starts, branch.target()));
      }
      if (next >= 0 && fallsThrough(flow)) {
        successors.add(made.size() + 1);
      }
      made.add(new BasicBlock(code.subList(start, end), List.copyOf(successors)));
      start = next;
    }
    blocks = List.copyOf(made);
    entries =
        entryAddresses.stream()
            .filter(address -> starts.get(address / SassInstruction.BYTES))
            .map(address -> number(starts, address))
            .sorted()
            .toList();
  }

  private static int number(BitSet starts, int address) {
    return starts.get(0, address / SassInstruction.BYTES).cardinality();
  }

  private static boolean fallsThrough(SassInstruction.Flow flow) {
    return switch (flow) {
      case Next() -> true;
      case Branch(int _, boolean conditional) -> conditional;
      case End(boolean conditional) -> conditional;
      case Indirect(boolean conditional) -> conditional;
    };
  }

  List<BasicBlock> blocks() {
    return blocks;
  }

  /** Returns the numbers of the blocks at which functions start, in ascending order. */
  List<Integer> entries() {
    return entries;
  }
}
