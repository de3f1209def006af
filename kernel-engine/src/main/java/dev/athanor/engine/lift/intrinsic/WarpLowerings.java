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

  static void warpBarrier(Instructions out, Operand result, List<Operand> inputs) {
    out.emit("bar.warp.sync", ALL_LANES);
  }

  static Intrinsic.Lowering vote(String kind) {
    return (out, d, inputs) -> out.emit("vote.sync." + kind, d, inputs.getFirst(), ALL_LANES);
  }

  /** Returns the exchange of a value of 32 or 64 bits between lanes. */
  static Intrinsic.Lowering shuffle(String mode) {
    var clamp = Immediate.of(mode.equals("up") ? 0 : 31);
    return (out, d, inputs) -> {
      var opcode = "shfl.sync." + mode + ".b32";
      var value = inputs.getFirst();
      var lane = inputs.get(1);
      if (bits(d, value) == 32) {
        out.emit(opcode, d, value, lane, clamp, ALL_LANES);
        return;
      }
      var low = out.register(Type.B32);
      var high = out.register(Type.B32);
      out.emit("mov.b64", Operand.Vector.of(List.of(low, high)), value);
      var newLow = out.result(Type.B32, opcode, low, lane, clamp, ALL_LANES);
      var newHigh = out.result(Type.B32, opcode, high, lane, clamp, ALL_LANES);
      out.emit("mov.b64", d, Operand.Vector.of(List.of(newLow, newHigh)));
    };
  }

  private static int bits(Operand result, Operand value) {
    return result instanceof Operand.Register register
        ? register.registerClass().bits()
        : value instanceof Operand.Register register ? register.registerClass().bits() : RegisterClass.B32.bits();
  }
}
