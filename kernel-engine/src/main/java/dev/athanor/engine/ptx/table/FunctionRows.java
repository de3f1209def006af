package dev.athanor.engine.ptx.table;

import static dev.athanor.engine.ptx.table.Row.row;

import dev.athanor.engine.ptx.InstructionForm;
import dev.athanor.engine.ptx.Modifiers;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.RuntimeFunction;
import dev.athanor.engine.ptx.Semantics.Call;
import dev.athanor.engine.ptx.Semantics.IndexedBranch;
import dev.athanor.engine.ptx.Semantics.RuntimeCall;
import dev.athanor.engine.ptx.Semantics.Store;
import dev.athanor.engine.ptx.Statement.Instruction;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Calls, stores of call parameters, and indexed branches (PTX ISA 9.7.9.11, 9.7.12). */
public final class FunctionRows {

  // spotless:off
  static final List<InstructionForm> ALL =
      Row.forms(
          row("9.7.9.11", "2.0", 20, "st.param{.<v2|v4>}.mem [a], b*vec", MemoryRows::fits, new Store()),

          row("9.7.12.4", "6.0", 30, "brx.idx{.uni} a:u32, t:targets", new IndexedBranch()),

          row("9.7.12.5", "1.0", 20, "call{.uni} {2d:arguments, }f:function{1, a:arguments}", new Call()),
          row("9.7.12.5", "2.1", 20, "call{.uni} {2d:arguments, }f:u64{1, a:arguments}, t:targets", new Call()));
  // spotless:on

  private static final Map<RuntimeFunction, InstructionForm> RUNTIME =
      Arrays.stream(RuntimeFunction.values())
          .collect(Collectors.toMap(Function.identity(), FunctionRows::form));

  private FunctionRows() {}

  /**
   * Returns the instruction that executes a call of a device-runtime function.
   *
   * @param results local variables for the results
   * @param arguments local variables with the arguments
   */
  public static Instruction call(
      RuntimeFunction function,
      Instruction original,
      List<Operand> results,
      List<Operand> arguments) {
    List<Operand> operands =
        Stream.concat(results.stream(), arguments.stream())
            .<Operand>map(variable -> new Operand.Address(variable, 0))
            .toList();
    var form = Objects.requireNonNull(RUNTIME.get(function));
    return new Instruction(form, new Modifiers(List.of()), operands, null, original.source())
        .asReplacementOf(original);
  }

  /**
   * Returns an emulator-only row, with the addresses of the result, if any, and of the arguments.
   */
  private static InstructionForm form(RuntimeFunction function) {
    var slots =
        Stream.concat(
                function.resultBytes() > 0 ? Stream.of("[d]:local") : Stream.empty(),
                function.argumentBytes().stream().map(_ -> "[a]:local"))
            .collect(Collectors.joining(", "));
    return row("9.7.12.5", "1.0", 20, function.symbol() + " " + slots, new RuntimeCall(function))
        .forms()
        .getFirst();
  }
}
