package dev.athanor.engine.author;

import dev.athanor.engine.layout.Fragment;
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
 * Emits the instructions of a kernel's body. It tracks the scopes, and for each register the scope
 * in which its value is available.
 */
final class BodyEmitter {

  private static final StackWalker WALKER = StackWalker.getInstance();
  private static final String OWN_PACKAGE = BodyEmitter.class.getPackageName() + ".";

  private final BlockShape block;
  private final Map<RegisterClass, Integer> counts = new EnumMap<>(RegisterClass.class);

  /** For each register, the outermost scope in which its value is available. */
  private final Map<Register, Scope> homes = new HashMap<>();

  /** For each variable, the number of writes so far; other registers are written once. */
  private final Map<Register, Integer> versions = new HashMap<>();

  private Scope scope = new Scope(null, false);

  BodyEmitter(BlockShape block) {
    this.block = block;
  }

  /** Returns the threads of a block. */
  BlockShape block() {
    return block;
  }

  /**
   * Rejects an exchange between lanes if the last warp of a block is not full.
   *
   * @param exchange the exchange, as a clause for the message
   */
  void requireFullWarps(String exchange) {
    if (!block.hasOnlyFullWarps()) {
      throw new IllegalStateException(
          "%s: %s among the %d lanes of full warps, but blocks have %s threads; use a multiple of %d threads, or reduceBlock"
              .formatted(here(), exchange, Fragment.LANES, block, Fragment.LANES));
    }
  }

  /** Returns the scope into which instructions are emitted. */
  Scope scope() {
    return scope;
  }

  /** Runs an author that emits into an inner scope. */
  void within(Scope inner, Runnable author) {
    var outer = scope;
    scope = inner;
    try {
      author.run();
    } finally {
      scope = outer;
    }
  }

  /** Emits a branch, unconditional if there is no guard. */
  void branch(@Nullable Guard guard, Statement.Label target) {
    scope.statements.add(
        InstructionTable.instruction(
            "bra", List.of(new Operand.Symbol(target.name())), guard, here()));
  }

  /** Sets the scope in which a register's value is available. */
  void moveTo(Scope home, Register register) {
    homes.put(register, home);
  }

  /** Returns a new register of this scope that may be written more than once. */
  Register variable(Type type) {
    var register = register(type);
    versions.put(register, 0);
    return register;
  }

  /** Returns whether an operand is a variable. */
  boolean isVariable(Operand operand) {
    return operand instanceof Register register && versions.containsKey(register);
  }

  /** Returns the number of writes of a variable so far. */
  int version(Register variable) {
    return versions.getOrDefault(variable, 0);
  }

  /** Captures the value that an operand has here, regardless of later writes. */
  Supplier<? extends Operand> capture(Operand operand) {
    return operand instanceof Register register ? capture(register) : () -> operand;
  }

  /** Captures the value that a register has here, regardless of later writes. */
  Supplier<Register> capture(Register register) {
    return isVariable(register) ? new Snapshot(this, register, version(register)) : () -> register;
  }

  /**
   * Inserts a copy of a variable into a scope.
   *
   * @param before the statement after which the copy is inserted; null for the start of the scope
   */
  @SuppressWarnings("ReferenceEquality") // an equal statement may precede it
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

  /** Returns an operand that is a register, or a new register with the constant. */
  Register register(Operand operand) {
    return operand instanceof Register r ? r : result(Type.B32, "mov.b32", operand);
  }

  /** Returns a new register of this scope. */
  Register register(Type type) {
    return register(type.registerClass());
  }

  private Register register(RegisterClass registerClass) {
    int number = counts.merge(registerClass, 1, Integer::sum) - 1;
    var register = new Register(registerClass, registerClass.prefix() + number);
    homes.put(register, scope);
    return register;
  }

  /** Emits an instruction and returns its new result register. */
  Register result(Type type, String opcode, Operand... sources) {
    var d = register(type);
    emit(opcode, Stream.concat(Stream.of(d), Stream.of(sources)).toArray(Operand[]::new));
    return d;
  }

  /**
   * Returns a register with the result of a pure integer instruction. The instruction is emitted in
   * the outermost scope in which its operands are available, unless its result is already there.
   */
  Register pure(Type type, String opcode, Operand... sources) {
    var home = scope;
    if (Stream.of(sources).flatMap(Operand::registers).noneMatch(this::isVariable)) {
      // a thread has only seven predicate registers, so predicates are not hoisted
      while (type != Type.PRED && home.parent != null && areAvailable(home.parent, sources)) {
        home = home.parent;
      }
      var key = new ArrayList<Object>(List.of(opcode));
      key.addAll(List.of(sources));
      for (var s = scope; s != null; s = s.parent) {
        var register = s.results.get(key);
        if (register != null) {
          return register;
        }
      }
      var d = register(type);
      homes.put(d, home);
      home.results.put(key, d);
      emit(home, null, opcode, Stream.concat(Stream.of(d), Stream.of(sources)).toList());
      return d;
    }
    return result(type, opcode, sources);
  }

  private boolean areAvailable(Scope home, Operand[] operands) {
    return Stream.of(operands)
        .flatMap(Operand::registers)
        .allMatch(r -> home.isIn(homes.getOrDefault(r, home)));
  }

  void emit(String opcode, Operand... operands) {
    emit(scope, null, opcode, List.of(operands));
  }

  /** Emits an instruction, with a guard if there is one. */
  void emitIf(@Nullable Register condition, String opcode, Operand... operands) {
    var guard = condition == null ? null : new Guard(condition, false);
    emit(scope, guard, opcode, List.of(operands));
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
                "%s: %s was computed in a loop or condition that has ended; keep it in a variable"
                    .formatted(here(), r));
          });
    }
    var emitted = instruction(opcode, operands, guard);
    home.statements.add(emitted);
    if (!versions.isEmpty()) {
      emitted.writes().forEach(r -> versions.computeIfPresent(r, (_, version) -> version + 1));
    }
    return emitted;
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

  /** Returns the line of Java outside this package that is being executed. */
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
