package dev.athanor.engine.author;

import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Type;

/** A condition, evaluated per thread. */
public final class Predicate {
  private final BodyEmitter emitter;
  private final Register register;

  Predicate(BodyEmitter emitter, Register register) {
    this.emitter = emitter;
    this.register = register;
  }

  public Predicate and(Predicate b) {
    return new Predicate(emitter, emitter.pure(Type.PRED, "and.pred", register, b.register));
  }

  public Predicate or(Predicate b) {
    return new Predicate(emitter, emitter.pure(Type.PRED, "or.pred", register, b.register));
  }

  public Predicate not() {
    return new Predicate(emitter, emitter.pure(Type.PRED, "not.pred", register));
  }

  Register register() {
    return register;
  }
}
