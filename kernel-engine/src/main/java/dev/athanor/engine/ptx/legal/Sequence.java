package dev.athanor.engine.ptx.legal;

import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Immediate;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.RegisterClass;
import dev.athanor.engine.ptx.Statement;
import dev.athanor.engine.ptx.Statement.Guard;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Statement.Label;
import dev.athanor.engine.ptx.table.InstructionTable;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The statements of a rewritten kernel. */
final class Sequence {

  private final String prefix;
  private final List<Statement> prologue = new ArrayList<>();
  private final List<Statement> statements = new ArrayList<>();
  private @Nullable Lane lane;
  private @Nullable Instruction given;
  private int registers;
  private int labels;

  /** Whether registers keep their values until the end of the kernel. */
  private boolean areLasting;

  /** Creates an empty sequence, whose new names differ from all names of a kernel. */
  Sequence(Kernel kernel) {
    var taken =
        kernel.registers().stream()
            .map(Register::name)
            .collect(Collectors.toCollection(ArrayList::new));
    for (var statement : kernel.body()) {
      if (statement instanceof Label label) {
        taken.add(label.name());
      }
    }
    var unique = "legal";
    while (names(taken, unique)) {
      unique += "_";
    }
    prefix = unique;
  }

  private static boolean names(List<String> taken, String prefix) {
    return taken.stream().anyMatch(name -> name.contains(prefix));
  }

  /** Returns the statements; those that compute the place of a lane are first. */
  List<Statement> statements() {
    var all = new ArrayList<>(prologue);
    all.addAll(statements);
    return Collections.unmodifiableList(all);
  }

  /** Returns the place of each lane, which the kernel computes once. */
  Lane lane() {
    var known = lane;
    if (known == null) {
      int body = statements.size();
      int used = registers;
      registers = 0;
      areLasting = true;
      known = Lane.of(this);
      areLasting = false;
      registers = used;
      var computed = statements.subList(body, statements.size());
      prologue.addAll(computed);
      computed.clear();
      lane = known;
    }
    return known;
  }

  /** Returns the value that a register has in a lane of the warp. */
  Register shuffle(Operand register, Register from) {
    return compute(
        RegisterClass.B32, "shfl.sync.idx.b32", register, from, literal(31), literal(-1));
  }

  /** Returns the address of a memory operand of the replaced instruction. */
  Register address(int index) {
    var address = (Operand.Address) operand(index);
    var base =
        address.base() instanceof Register register
            ? register
            : compute(RegisterClass.B32, "mov.u32", address.base());
    return compute(RegisterClass.B32, "add.u32", base, literal(Math.toIntExact(address.offset())));
  }

  /** Begins the replacement of an instruction. */
  void begin(Instruction replaced) {
    given = replaced;
    registers = 0; // no replacement reads those of another
  }

  /** Adds a statement as it is. */
  void keep(Statement statement) {
    statements.add(statement);
  }

  /** Adds the instruction itself. */
  void keep() {
    keep(given());
  }

  Instruction given() {
    return Objects.requireNonNull(given, "a replacement has begun");
  }

  /** Returns an operand of the replaced instruction. */
  Operand operand(int index) {
    return given().operands().get(index);
  }

  /** Returns the registers of a vector operand; a single register is a vector of one. */
  List<Operand> elements(int index) {
    return operand(index) instanceof Operand.Vector(var elements)
        ? elements
        : List.of(operand(index));
  }

  /** Adds an instruction with the guard of the replaced one. */
  void guarded(String opcode, Operand... operands) {
    add(given().guard(), opcode, operands);
  }

  /** Adds an instruction that all threads execute, which writes a new register. */
  Register compute(RegisterClass result, String opcode, Operand... sources) {
    var register = register(result);
    var operands = new ArrayList<Operand>(List.of(register));
    operands.addAll(List.of(sources));
    add(null, opcode, operands.toArray(Operand[]::new));
    return register;
  }

  void add(@Nullable Guard guard, String opcode, Operand... operands) {
    statements.add(
        InstructionTable.instruction(opcode, List.of(operands), guard, given().source()));
  }

  Register register(RegisterClass result) {
    return new Register(
        result,
        "%%%s%s_%s%d".formatted(prefix, areLasting ? "_lane" : "", result.word(), registers++));
  }

  /** Returns a predicate that is true where the replaced instruction executes and another holds. */
  Guard where(Register condition) {
    var guard = given().guard();
    if (guard == null) {
      return new Guard(condition, false);
    }
    var executes =
        guard.negated()
            ? compute(RegisterClass.PRED, "not.pred", guard.predicate())
            : guard.predicate();
    return new Guard(compute(RegisterClass.PRED, "and.pred", executes, condition), false);
  }

  /** Adds instructions that threads skip unless a condition holds. */
  void onlyIf(Register condition, Runnable instructions) {
    var end = "$" + prefix + labels++;
    add(new Guard(condition, true), "bra", new Operand.Symbol(end));
    instructions.run();
    statements.add(new Label(end, given().source()));
  }

  /** Adds instructions that are repeated with a register that counts from 0. */
  void loop(Register count, Consumer<Register> body) {
    var at = register(RegisterClass.B32);
    add(null, "mov.b32", at, literal(0));
    var again = "$" + prefix + labels++;
    statements.add(new Label(again, given().source()));
    body.accept(at);
    add(null, "add.u32", at, at, literal(1));
    var more = compute(RegisterClass.PRED, "setp.lt.u32", at, count);
    add(new Guard(more, false), "bra", new Operand.Symbol(again));
  }

  static Immediate literal(int value) {
    return Immediate.of(value);
  }
}
