package dev.athanor.engine.lift.emit;

import dev.athanor.engine.lift.ir.Op;
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
import java.util.Collections;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

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

  /** The largest literal in an index that is taken for a distance. */
  private static final long MOST_LITERAL = 1 << 20;

  private static final Comparator<Value> BY_LITERAL =
      Comparator.comparingLong(check -> literal(check.input(0)));

  /**
   * A check whose failure is handled at the end of the kernel.
   *
   * @param isLast whether this is the last check of its branch
   */
  private record Failure(
      Site site, Operand index, Operand limit, Operand length, boolean isLong, boolean isLast) {

    /** Writes the test; returns whether this or the one before fails. */
    Register test(RegisterFile out, @Nullable Register before) {
      var type = isLong ? "u64" : "u32"; // in which a negative index exceeds each limit
      return before == null
          ? out.result(Type.PRED, "setp.hs." + type, index, limit)
          : out.result(Type.PRED, "setp.hs.or." + type, index, limit, before);
    }
  }

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

  /**
   * Writes checks with nothing in between: one branch, taken if any of them fails. The code at the
   * end tests them again, in order.
   */
  void check(List<Value> checks) {
    var outermost = outermost(checks);
    var label = label(failures.size());
    Register failed = null;
    for (var check : checks) {
      var failure = failure(check, check == checks.getLast());
      failures.add(failure);
      if (outermost.contains(check)) {
        out.setSource(failure.site.source());
        failed = failure.test(out, failed);
      }
    }
    out.branch(new Guard(Objects.requireNonNull(failed), false), label);
  }

  private Failure failure(Value check, boolean isLast) {
    return new Failure(
        check.attribute(Site.class),
        operands.of(check.input(0)),
        operands.of(check.input(1)),
        operands.of(check.inputs().getLast()),
        check.input(0).type() == ValueType.LONG,
        isLast);
  }

  /**
   * Returns checks that fail if any does: of those whose indices differ from one value by literals
   * and have one limit, the first and the last in memory. Literals are too small for an index
   * between two that are within an array to overflow.
   */
  private static Set<Value> outermost(List<Value> checks) {
    Set<Value> found = new HashSet<>();
    checks.stream()
        .collect(Collectors.groupingBy(check -> List.of(base(check.input(0)), check.input(1))))
        .values()
        .forEach(same -> {
          found.add(Collections.min(same, BY_LITERAL));
          found.add(Collections.max(same, BY_LITERAL));
        });
    return found;
  }

  /** Returns the value that an index exceeds by a literal. */
  private static Value base(Value index) {
    return literal(index) == 0 ? index : index.input(0);
  }

  private static long literal(Value index) {
    return index.is(Op.ADD)
            && index.input(1).isIntegerConstant()
            && Math.abs(index.input(1).integer()) <= MOST_LITERAL
        ? index.input(1).integer()
        : 0;
  }

  private static String label(int failure) {
    return "$fault" + failure;
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
        out.label(label(i));
        if (!failure.isLast) {
          out.branch(new Guard(failure.test(out, null), true), label(i + 1));
        }
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
