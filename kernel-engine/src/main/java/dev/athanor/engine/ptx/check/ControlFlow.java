package dev.athanor.engine.ptx.check;

import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Statement;
import dev.athanor.engine.ptx.Statement.Instruction;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/** Which statements of a kernel can be executed after which. */
public final class ControlFlow {

  private final List<List<Integer>> successors;

  private ControlFlow(List<List<Integer>> successors) {
    this.successors = successors;
  }

  /** The control flow of a kernel; a branch to a label that is not there leads nowhere. */
  public static ControlFlow of(Kernel kernel) {
    return of(kernel, _ -> false);
  }

  /**
   * The control flow of a kernel.
   *
   * @param ends instructions behind which a thread does not go on, besides those whose meaning that
   *     is
   */
  static ControlFlow of(Kernel kernel, Predicate<Instruction> ends) {
    var body = kernel.body();
    var labels = new HashMap<String, Integer>();
    var lists = new HashMap<String, List<String>>();
    for (int i = 0; i < body.size(); i++) {
      switch (body.get(i)) {
        case Statement.Label label -> labels.put(label.name(), i);
        case Statement.Targets targets -> lists.put(targets.name(), targets.names());
        case Statement.Prototype _, Instruction _ -> {}
      }
    }
    var successors = new ArrayList<List<Integer>>();
    for (int i = 0; i < body.size(); i++) {
      var next = new ArrayList<Integer>();
      boolean goesOn = true;
      if (body.get(i) instanceof Instruction instruction) {
        var targets = targets(instruction, lists);
        targets.stream().filter(labels::containsKey).map(labels::get).forEach(next::add);
        boolean leaves =
            !targets.isEmpty()
                || instruction.form().semantics() instanceof Semantics.Exit
                || instruction.form().semantics() instanceof Semantics.Trap
                || ends.test(instruction);
        goesOn = !leaves || instruction.guard() != null;
      }
      if (goesOn && i + 1 < body.size()) {
        next.add(i + 1);
      }
      successors.add(List.copyOf(next));
    }
    return new ControlFlow(successors);
  }

  private static List<String> targets(Instruction instruction, Map<String, List<String>> lists) {
    return switch (instruction.form().semantics()) {
      case Semantics.Branch _ -> List.of(instruction.operands().getFirst().toString());
      case Semantics.IndexedBranch _ ->
          lists.getOrDefault(instruction.operands().getLast().toString(), List.of("?"));
      default -> List.of();
    };
  }

  /** The indices of the statements that can follow the one at an index. */
  public List<Integer> successors(int statement) {
    return successors.get(statement);
  }
}
