package dev.athanor.engine.lift.intrinsic;

import dev.athanor.engine.lift.ir.Instructions;
import dev.athanor.engine.lift.ir.Intrinsic;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Immediate;
import dev.athanor.engine.ptx.RegisterClass;
import dev.athanor.engine.ptx.Type;
import java.util.List;

/** Instructions of what threads do together. */
final class WarpLowerings {
  private static final Immediate ALL_LANES = Immediate.of(-1);

  private WarpLowerings() {}

  static void barrier(Instructions out, Operand result, List<Operand> inputs) {
    out.emit("bar.sync", Immediate.of(0));
  }

  static void awaitPreviousGrid(Instructions out, Operand result, List<Operand> inputs) {
    out.emit("griddepcontrol.wait");
  }

  static void launchDependents(Instructions out, Operand result, List<Operand> inputs) {
    out.emit("griddepcontrol.launch_dependents");
  }

  /** Returns the address of the workspace, whose halves are in two registers. */
  static void gridWorkspace(Instructions out, Operand result, List<Operand> inputs) {
    out.emit("mov.b64", result, Operand.Vector.of(List.of(inputs.get(1), inputs.get(0))));
  }

  static void warpBarrier(Instructions out, Operand result, List<Operand> inputs) {
    out.emit("bar.warp.sync", members(inputs, 0));
  }

  static Intrinsic.Lowering vote(String kind) {
    return (out, d, inputs) ->
        out.emit("vote.sync." + kind, d, inputs.getFirst(), members(inputs, 1));
  }

  /** Returns the exchange of a value of 32 or 64 bits between lanes. */
  static Intrinsic.Lowering shuffle(String mode) {
    var clamp = Immediate.of(mode.equals("up") ? 0 : 31);
    return (out, d, inputs) -> {
      var opcode = "shfl.sync." + mode + ".b32";
      var value = inputs.getFirst();
      var lane = inputs.get(1);
      var members = members(inputs, 2);
      if (bits(d, value) == 32) {
        out.emit(opcode, d, value, lane, clamp, members);
        return;
      }
      var low = out.register(Type.B32);
      var high = out.register(Type.B32);
      out.emit("mov.b64", Operand.Vector.of(List.of(low, high)), value);
      var newLow = out.result(Type.B32, opcode, low, lane, clamp, members);
      var newHigh = out.result(Type.B32, opcode, high, lane, clamp, members);
      out.emit("mov.b64", d, Operand.Vector.of(List.of(newLow, newHigh)));
    };
  }

  /** Returns the mask of the lanes that take part, which may be an input after the others. */
  private static Operand members(List<Operand> inputs, int others) {
    return inputs.size() > others ? inputs.get(others) : ALL_LANES;
  }

  private static int bits(Operand result, Operand value) {
    return result instanceof Operand.Register register
        ? register.registerClass().bits()
        : value instanceof Operand.Register register
            ? register.registerClass().bits()
            : RegisterClass.B32.bits();
  }
}
