package dev.athanor.engine.ptx;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;

/** Which statements of a kernel can be executed after which. */
public final class ControlFlow {

  private final List<List<Integer>> successors;

  private ControlFlow(List<List<Integer>> successors) {
    this.successors = successors;
  }

  /** The control flow of a kernel; a branch to a label that is not there leads nowhere. */
  public static ControlFlow of(Kernel kernel) {
    var body = kernel.body();
    var labels = new HashMap<String, Integer>();
    for (int i = 0; i < body.size(); i++) {
      if (body.get(i) instanceof Statement.Label label) {
        labels.put(label.name(), i);
      }
    }
    var successors = new ArrayList<List<Integer>>();
    for (int i = 0; i < body.size(); i++) {
      var next = new ArrayList<Integer>();
      boolean goesOn = true;
      if (body.get(i) instanceof Statement.Instruction instruction) {
        var semantics = instruction.form().semantics();
        if (semantics instanceof Semantics.Branch
            && instruction.operands().getFirst() instanceof Operand.Symbol target) {
          var at = labels.get(target.name());
          if (at != null) {
            next.add(at);
          }
        }
        boolean leaves =
            semantics instanceof Semantics.Branch || semantics instanceof Semantics.Exit;
        goesOn = !leaves || instruction.guard() != null;
      }
      if (goesOn && i + 1 < body.size()) {
        next.add(i + 1);
      }
      successors.add(List.copyOf(next));
    }
    return new ControlFlow(successors);
  }

  /** The indices of the statements that can follow the one at an index. */
  public List<Integer> successors(int statement) {
    return successors.get(statement);
  }
}
