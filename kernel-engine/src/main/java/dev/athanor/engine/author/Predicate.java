package dev.athanor.engine.author;

import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Type;

/** A condition that holds or does not in each thread. */
public final class Predicate {
  final KernelBuilder k;
  final Register register;

  Predicate(KernelBuilder k, Register register) {
    this.k = k;
    this.register = register;
  }

  public Predicate and(Predicate b) {
    return new Predicate(k, k.pure(Type.PRED, "and.pred", register, b.register));
  }

  public Predicate or(Predicate b) {
    return new Predicate(k, k.pure(Type.PRED, "or.pred", register, b.register));
  }

  public Predicate not() {
    return new Predicate(k, k.pure(Type.PRED, "not.pred", register));
  }
}
