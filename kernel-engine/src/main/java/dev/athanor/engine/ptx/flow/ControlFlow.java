package dev.athanor.engine.ptx.flow;

import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Symbol;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Statement;
import dev.athanor.engine.ptx.Statement.Instruction;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/**
 * The control-flow graph over the statements of a kernel or the instructions of a program. Every
 * statement is a node, numbered by its position. A branch to a label that does not exist has no
 * edge.
 */
public final class ControlFlow {

  private final List<List<Integer>> successors = new ArrayList<>();
  private final List<List<Integer>> predecessors = new ArrayList<>();
  private final BitSet exits = new BitSet();

  private ControlFlow(
      List<? extends Statement> code,
      Map<String, Integer> labels,
      Map<String, List<String>> targetLists,
      Predicate<Instruction> neverReturns) {
    for (int at = 0; at < code.size(); at++) {
      predecessors.add(new ArrayList<>());
    }
    for (int at = 0; at < code.size(); at++) {
      var next = new ArrayList<Integer>();
      boolean continues = true;
      if (code.get(at) instanceof Instruction instruction) {
        var targets = targets(instruction, targetLists);
        targets.stream().filter(labels::containsKey).map(labels::get).forEach(next::add);
        boolean leaves =
            !targets.isEmpty() || endsThread(instruction) || neverReturns.test(instruction);
        continues = !leaves || instruction.guard() != null;
        exits.set(at, instruction.form().semantics() instanceof Semantics.Exit);
      }
      if (continues && at + 1 < code.size()) {
        next.add(at + 1);
      }
      successors.add(List.copyOf(next));
      for (int successor : next) {
        predecessors.get(successor).add(at);
      }
      if (next.isEmpty() || at == code.size() - 1) {
        exits.set(at);
      }
    }
  }

  /** Returns the control flow of a kernel or of the body of a function. */
  public static ControlFlow of(Kernel kernel) {
    return of(kernel, _ -> false);
  }

  /**
   * Returns the control flow of a kernel or of the body of a function.
   *
   * @param neverReturns selects the calls after which the thread does not continue
   */
  public static ControlFlow of(Kernel kernel, Predicate<Instruction> neverReturns) {
    var body = kernel.body();
    var labels = new HashMap<String, Integer>();
    var targetLists = new HashMap<String, List<String>>();
    for (int at = 0; at < body.size(); at++) {
      switch (body.get(at)) {
        case Statement.Label label -> labels.put(label.name(), at);
        case Statement.TargetList targets -> targetLists.put(targets.name(), targets.names());
        case Statement.Prototype _, Instruction _ -> {}
      }
    }
    return new ControlFlow(body, labels, targetLists, neverReturns);
  }

  /**
   * Returns the control flow of a program.
   *
   * @param labels the position of the instruction after each label
   */
  public static ControlFlow of(List<Instruction> program, Map<String, Integer> labels) {
    return new ControlFlow(program, labels, Map.of(), _ -> false);
  }

  /** Returns the label to which a branch jumps. */
  public static String target(Instruction branch) {
    return name(branch.operands().getFirst());
  }

  private static List<String> targets(Instruction instruction, Map<String, List<String>> lists) {
    return switch (instruction.form().semantics()) {
      case Semantics.Branch _ -> List.of(target(instruction));
      case Semantics.IndexedBranch _ ->
          lists.getOrDefault(name(instruction.operands().getLast()), List.of("?"));
      case Semantics.Computation _,
          Semantics.Access _,
          Semantics.Asynchronous _,
          Semantics.Completion _,
          Semantics.Synchronization _,
          Semantics.TensorMapUpdate _,
          Semantics.Control _,
          Semantics.NoEffect _ ->
          List.of();
    };
  }

  private static String name(Operand operand) {
    return operand instanceof Symbol symbol ? symbol.name() : operand.toString();
  }

  private static boolean endsThread(Instruction instruction) {
    return instruction.form().semantics() instanceof Semantics.Exit
        || instruction.form().semantics() instanceof Semantics.Trap;
  }

  /** Returns the number of statements. */
  public int size() {
    return successors.size();
  }

  /** Returns the statements that can follow a statement. */
  public List<Integer> successors(int statement) {
    return successors.get(statement);
  }

  /** Returns the statements that can precede a statement, in ascending order. */
  public List<Integer> predecessors(int statement) {
    return predecessors.get(statement);
  }

  /**
   * Whether a thread may end at a statement: at an exit, with or without a guard, at a statement
   * without successors, and at the last statement.
   */
  public boolean mayExit(int statement) {
    return exits.get(statement);
  }
}
