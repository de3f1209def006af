package dev.athanor.engine.ptx.table;

import static dev.athanor.engine.ptx.table.Row.row;

import dev.athanor.engine.ptx.InstructionForm;
import dev.athanor.engine.ptx.Semantics.*;
import java.util.List;

/** Calls, what they hand over, and branches by number (PTX ISA 9.7.9.11, 9.7.12). */
final class FunctionRows {

  // spotless:off
  static final List<InstructionForm> ALL =
      List.of(
          row("9.7.9.11", "2.0", 20, "st.param{.<v2|v4>}.mem [a], b*vec", MemoryRows::fits, new Store()),

          row("9.7.12.4", "6.0", 30, "brx.idx{.uni} a:u32, t:targets", new IndexedBranch()),

          row("9.7.12.5", "1.0", 20, "call{.uni} f:function", new Call()),
          row("9.7.12.5", "1.0", 20, "call{.uni} f:function, a:arguments", new Call()),
          row("9.7.12.5", "1.0", 20, "call{.uni} d:arguments, f:function", new Call()),
          row("9.7.12.5", "1.0", 20, "call{.uni} d:arguments, f:function, a:arguments", new Call()),
          row("9.7.12.5", "2.1", 20, "call{.uni} f:u64, t:targets", new Call()),
          row("9.7.12.5", "2.1", 20, "call{.uni} f:u64, a:arguments, t:targets", new Call()),
          row("9.7.12.5", "2.1", 20, "call{.uni} d:arguments, f:u64, t:targets", new Call()),
          row("9.7.12.5", "2.1", 20, "call{.uni} d:arguments, f:u64, a:arguments, t:targets", new Call()));
  // spotless:on

  private FunctionRows() {}
}
