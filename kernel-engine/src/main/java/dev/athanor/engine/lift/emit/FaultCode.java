package dev.athanor.engine.lift.emit;

import dev.athanor.engine.lift.ir.Site;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.lift.ir.ValueType;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Address;
import dev.athanor.engine.ptx.Operand.Immediate;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Operand.Symbol;
import dev.athanor.engine.ptx.Source;
import dev.athanor.engine.ptx.SpecialRegister;
import dev.athanor.engine.ptx.Statement.Guard;
import dev.athanor.engine.ptx.Type;
import java.util.ArrayList;
import java.util.List;

/**
 * The checks of a kernel, and the code at its end that records the first fault. The record has 48
 * bytes: the number of the site plus one (int, 0 for no fault) and an unused int; index and length
 * (long each); the thread's and the block's coordinates (three ints each). The first thread that
 * faults writes it; each thread that faults leaves the kernel.
 */
final class FaultCode {
  private static final List<SpecialRegister> POSITION =
      List.of(
          SpecialRegister.TID_X,
          SpecialRegister.TID_Y,
          SpecialRegister.TID_Z,
          SpecialRegister.CTAID_X,
          SpecialRegister.CTAID_Y,
          SpecialRegister.CTAID_Z);

  /** A check whose failure is handled at the end of the kernel. */
  private record Failure(Site site, Operand index, Operand length, boolean isLong) {}

  private final RegisterFile out;
  private final Operands operands;
  private final List<Failure> failures = new ArrayList<>();

  FaultCode(RegisterFile out, Operands operands) {
    this.out = out;
    this.operands = operands;
  }

  boolean isUsed() {
    return !failures.isEmpty();
  }

  void check(Value value) {
    var index = operands.of(value.input(0));
    var limit = operands.of(value.input(1));
    boolean isLong = value.input(0).type() == ValueType.LONG;
    var failed = out.result(Type.PRED, "setp.hs." + (isLong ? "u64" : "u32"), index, limit);
    out.branch(new Guard(failed, false), "$fault" + failures.size());
    var length = operands.of(value.inputs().getLast());
    failures.add(new Failure(value.attribute(Site.class), index, length, isLong));
  }

  /** Writes the end of the kernel; returns the sites by their numbers. */
  List<Site> finish() {
    if (isUsed()) {
      var site = out.register(Type.S32);
      var index = out.register(Type.S64);
      var length = out.register(Type.S64);
      for (int i = 0; i < failures.size(); i++) {
        var failure = failures.get(i);
        out.setSource(failure.site.source());
        out.label("$fault" + i);
        out.emit("mov.s32", site, Immediate.of(i + 1));
        widen(index, failure.index, failure.isLong);
        widen(length, failure.length, failure.isLong);
        out.branch(null, "$fault");
      }
      out.setSource(Source.UNKNOWN);
      out.label("$fault");
      write(site, index, length);
      out.emit("ret");
    }
    return failures.stream().map(Failure::site).toList();
  }

  private void widen(Register d, Operand from, boolean isLong) {
    if (isLong || from instanceof Immediate) {
      out.emit("mov.s64", d, from);
    } else {
      out.emit("cvt.s64.s32", d, from);
    }
  }

  private void write(Register site, Register index, Register length) {
    var record =
        out.result(Type.U64, "ld.param.u64", new Address(new Symbol(KernelEmitter.FAULT), 0));
    var old =
        out.result(Type.B32, "atom.global.cas.b32", new Address(record, 0), Immediate.of(0), site);
    var late = out.result(Type.PRED, "setp.ne.s32", old, Immediate.of(0));
    out.branch(new Guard(late, false), "$left");
    out.emit("st.global.s64", new Address(record, 8), index);
    out.emit("st.global.s64", new Address(record, 16), length);
    for (int i = 0; i < POSITION.size(); i++) {
      var coordinate = out.result(Type.U32, "mov.u32", POSITION.get(i));
      out.emit("st.global.u32", new Address(record, 24 + 4L * i), coordinate);
    }
    out.label("$left");
  }
}
