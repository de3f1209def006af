package dev.athanor.engine.author;

import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.RegisterClass;
import dev.athanor.engine.ptx.Source;
import dev.athanor.engine.ptx.Statement;
import dev.athanor.engine.ptx.Statement.Guard;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.table.InstructionTable;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Writes the instructions of a kernel's body, each where it belongs: knows the scopes, and in which
 * of them a register has its value.
 */
abstract sealed class BodyWriter permits KernelBuilder {

  private static final StackWalker WALKER = StackWalker.getInstance();
  private static final String OWN_PACKAGE = KernelBuilder.class.getPackageName() + ".";

  private final Map<RegisterClass, Integer> counts = new EnumMap<>(RegisterClass.class);
  private final Map<Register, Scope> homes = new HashMap<>();

  /** How often each variable has been written so far; other registers are written once. */
  private final Map<Register, Integer> versions = new HashMap<>();

  private Scope scope = new Scope(null, false);

  /** What is being written. */
  Scope scope() {
    return scope;
  }

  /** Has an author write into a scope of this one. */
  void within(Scope inner, Runnable author) {
    var outer = scope;
    scope = inner;
    try {
      author.run();
    } finally {
      scope = outer;
    }
  }

  /** A branch, where the guard allows it, or always where there is none. */
  void branch(@Nullable Guard guard, Statement.Label target) {
    scope.statements.add(
        InstructionTable.instruction(
            "bra", List.of(new Operand.Symbol(target.name())), guard, here()));
  }

  /** Says in which scope a register has its value. */
  void moveTo(Scope home, Register register) {
    homes.put(register, home);
  }

  /** A new register of this scope that may change. */
  Register variable(Type type) {
    var register = register(type);
    versions.put(register, 0);
    return register;
  }

  /** Whether a register may change. */
  boolean isVariable(Operand operand) {
    return operand instanceof Register register && versions.containsKey(register);
  }

  /** How often a variable has been written so far. */
  int version(Register variable) {
    return versions.getOrDefault(variable, 0);
  }

  /** Returns what has the value that an operand has here, whatever is written later. */
  Supplier<? extends Operand> held(Operand operand) {
    return operand instanceof Register register ? held(register) : () -> operand;
  }

  /** Returns what has the value that a register has here, whatever is written later. */
  Supplier<Register> held(Register register) {
    return isVariable(register) ? new Snapshot(this, register, version(register)) : () -> register;
  }

  /**
   * Inserts a copy of a variable into a scope.
   *
   * @param before the statement after which it stands, null for the first place
   */
  @SuppressWarnings("ReferenceEquality") // other statements may be written alike
  Register copy(Register variable, Scope home, @Nullable Statement before, Source source) {
    var copy = register(variable.registerClass());
    homes.put(copy, home);
    int at = home.statements.size();
    while (at > 0 && home.statements.get(at - 1) != before) {
      at--;
    }
    var opcode = "mov." + variable.registerClass().word();
    home.statements.add(
        at, InstructionTable.instruction(opcode, List.of(copy, variable), null, source));
    return copy;
  }

  /** The register that an operand is, or a new one that holds the constant. */
  Register register(Operand operand) {
    return operand instanceof Register r ? r : result(Type.B32, "mov.b32", operand);
  }

  /** A new register of this scope. */
  Register register(Type type) {
    return register(type.registerClass());
  }

  private Register register(RegisterClass registerClass) {
    int number = counts.merge(registerClass, 1, Integer::sum) - 1;
    var register = new Register(registerClass, registerClass.prefix() + number);
    homes.put(register, scope);
    return register;
  }

  /** A new register that an instruction writes here. */
  Register result(Type type, String opcode, Operand... sources) {
    var d = register(type);
    emit(opcode, Stream.concat(Stream.of(d), Stream.of(sources)).toArray(Operand[]::new));
    return d;
  }

  /**
   * A register with the result of an integer instruction, which is written in the outermost scope
   * that knows its operands, unless it is known there already.
   */
  Register pure(Type type, String opcode, Operand... sources) {
    var home = scope;
    if (Stream.of(sources).flatMap(Operand::registers).noneMatch(this::isVariable)) {
      // a thread has seven predicates at most, so they are not kept over a loop
      while (type != Type.PRED && home.parent != null && knows(home.parent, sources)) {
        home = home.parent;
      }
      var key = new ArrayList<Object>(List.of(opcode));
      key.addAll(List.of(sources));
      for (var s = scope; s != null; s = s.parent) {
        var register = s.known.get(key);
        if (register != null) {
          return register;
        }
      }
      var d = register(type);
      homes.put(d, home);
      home.known.put(key, d);
      emit(home, null, opcode, Stream.concat(Stream.of(d), Stream.of(sources)).toList());
      return d;
    }
    return result(type, opcode, sources);
  }

  private boolean knows(Scope home, Operand[] operands) {
    return Stream.of(operands)
        .flatMap(Operand::registers)
        .allMatch(r -> home.isIn(homes.getOrDefault(r, home)));
  }

  void emit(String opcode, Operand... operands) {
    emit(scope, null, opcode, List.of(operands));
  }

  void emit(Predicate guard, String opcode, Operand... operands) {
    emit(scope, new Guard(guard.register, false), opcode, List.of(operands));
  }

  Statement.Instruction emit(
      Scope home, @Nullable Guard guard, String opcode, List<Operand> operands) {
    for (var operand : operands) {
      operand
          .registers()
          .filter(r -> !scope.isIn(homes.getOrDefault(r, scope)))
          .findFirst()
          .ifPresent(r -> {
            throw new IllegalStateException(
                "%s: %s was made in a loop or condition that has ended; keep it in a variable"
                    .formatted(here(), r));
          });
    }
    var written = instruction(opcode, operands, guard);
    home.statements.add(written);
    if (!versions.isEmpty()) {
      written.writes().forEach(r -> versions.computeIfPresent(r, (_, version) -> version + 1));
    }
    return written;
  }

  private static Statement.Instruction instruction(
      String opcode, List<Operand> operands, @Nullable Guard guard) {
    var here = here();
    try {
      return InstructionTable.instruction(opcode, operands, guard, here);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(here + ": " + e.getMessage(), e);
    }
  }

  /** The line of Java that is being executed outside of this package. */
  static Source here() {
    return WALKER.walk(frames ->
        frames
            .filter(f ->
                !f.getClassName().startsWith(OWN_PACKAGE) && !f.getClassName().startsWith("java."))
            .findFirst()
            .map(f -> new Source(String.valueOf(f.getFileName()), f.getLineNumber(), 0))
            .orElse(Source.UNKNOWN));
  }
}
