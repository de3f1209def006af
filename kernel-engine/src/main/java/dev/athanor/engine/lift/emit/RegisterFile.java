package dev.athanor.engine.lift.emit;

import dev.athanor.engine.lift.ir.Instructions;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.RegisterClass;
import dev.athanor.engine.ptx.Source;
import dev.athanor.engine.ptx.Statement;
import dev.athanor.engine.ptx.Statement.Guard;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.Variable;
import dev.athanor.engine.ptx.symbol.SourceFrame;
import dev.athanor.engine.ptx.table.InstructionTable;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The body of a kernel being written, and its virtual registers. */
final class RegisterFile implements Instructions {
  private final Map<RegisterClass, Integer> counts = new EnumMap<>(RegisterClass.class);
  private final Set<Variable> variables = new LinkedHashSet<>();
  private final List<Statement> statements = new ArrayList<>();
  private final List<Optional<SourceFrame>> frames = new ArrayList<>();
  private Source source = Source.UNKNOWN;
  private Optional<SourceFrame> frame = Optional.empty();

  List<Statement> statements() {
    return statements;
  }

  /** Returns the variables that instructions have declared. */
  Set<Variable> variables() {
    return variables;
  }

  /** Returns the frame of each instruction. */
  List<Optional<SourceFrame>> frames() {
    return frames;
  }

  /** Sets the line of the statements that follow, unless they have a frame. */
  void setSource(Source line) {
    if (frame.isEmpty()) {
      source = line;
    }
  }

  /** Sets the frame of the statements that follow, and their line. */
  void setFrame(SourceFrame at, Source line) {
    frame = Optional.of(at);
    source = line;
  }

  /** Ends the last frame: the statements that follow are of no line of the source. */
  void endFrames() {
    frame = Optional.empty();
    source = Source.UNKNOWN;
  }

  @Override
  public Register register(Type type) {
    var kind = type.registerClass();
    int number = counts.merge(kind, 1, Integer::sum) - 1;
    return new Register(kind, kind.prefix() + number);
  }

  @Override
  public void declare(Variable variable) {
    variables.add(variable);
  }

  @Override
  public void emit(String opcode, Operand... operands) {
    add(opcode, null, operands);
  }

  @Override
  public void emitIf(Register predicate, String opcode, Operand... operands) {
    add(opcode, new Guard(predicate, false), operands);
  }

  /** Appends a branch. */
  void branch(@Nullable Guard guard, String label) {
    add("bra", guard, new Operand.Symbol(label));
  }

  void label(String name) {
    statements.add(new Statement.Label(name, source));
  }

  private void add(String opcode, @Nullable Guard guard, Operand... operands) {
    statements.add(InstructionTable.instruction(opcode, List.of(operands), guard, source));
    frames.add(frame);
  }
}
