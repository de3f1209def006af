package dev.athanor.vulkan.flow;

import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Semantics.WarpKind;
import dev.athanor.engine.ptx.Statement.Instruction;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * Instructions whose shuffles read values that are known before the first of them. Threads that
 * exchange values through shared memory wait for each other once for all of these shuffles.
 *
 * @param sources the operands that the shuffles read from other lanes; none = no shuffles
 */
public record Exchange(List<Instruction> code, Set<Operand> sources) {

  /**
   * Splits a basic block.
   *
   * @param maxSources maximum number of sources of an exchange, at least 1
   */
  public static List<Exchange> split(List<Instruction> block, int maxSources) {
    var found = new ArrayList<Exchange>();
    var code = new ArrayList<Instruction>();
    var sources = new LinkedHashSet<Operand>();
    var written = new HashSet<Register>();
    for (var instruction : block) {
      boolean shuffles = isShuffle(instruction);
      boolean ends =
          shuffles
              ? sources.isEmpty() || !fits(source(instruction), sources, written, maxSources)
              : !sources.isEmpty() && isCollective(instruction);
      if (ends) {
        close(code, sources, found);
        written.clear();
      }
      if (shuffles) {
        sources.add(source(instruction));
      }
      code.add(instruction);
      written.addAll(instruction.writes());
    }
    close(code, sources, found);
    return found;
  }

  /**
   * Returns the sources of the shuffles of a loop of one block, if threads can exchange them before
   * the loop, or none.
   */
  public static Set<Operand> beforeLoop(List<Instruction> block, int maxSources) {
    var written = new HashSet<Register>();
    block.forEach(each -> written.addAll(each.writes()));
    var sources = new LinkedHashSet<Operand>();
    for (var instruction : block) {
      if (isCollective(instruction)) {
        if (!isShuffle(instruction) || !fits(source(instruction), sources, written, maxSources)) {
          return Set.of();
        }
        sources.add(source(instruction));
      }
    }
    return sources;
  }

  private static boolean fits(
      Operand source, Set<Operand> sources, Set<Register> written, int maxSources) {
    return !(source instanceof Register register && written.contains(register))
        && (sources.contains(source) || sources.size() < maxSources);
  }

  private static void close(List<Instruction> code, Set<Operand> sources, List<Exchange> found) {
    if (!code.isEmpty()) {
      found.add(new Exchange(List.copyOf(code), new LinkedHashSet<>(sources)));
      code.clear();
      sources.clear();
    }
  }

  /** Returns the operand that a shuffle reads from another lane. */
  public static Operand source(Instruction shuffle) {
    return shuffle.operands().get(1);
  }

  private static boolean isShuffle(Instruction instruction) {
    return instruction.form().semantics() instanceof Semantics.Warp warp
        && warp.kind() == WarpKind.SHUFFLE;
  }

  /**
   * Returns whether threads execute an instruction together: all of the block for a barrier or an
   * exchange through shared memory, else those of the warp.
   */
  public static boolean isCollective(Instruction instruction) {
    return switch (instruction.form().semantics()) {
      case Semantics.Warp _, Semantics.Converged _, Semantics.WarpBarrier _, Semantics.Barrier _ ->
          true;
      default -> false;
    };
  }
}
