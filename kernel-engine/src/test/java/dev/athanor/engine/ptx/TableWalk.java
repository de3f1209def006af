package dev.athanor.engine.ptx;

import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Statement.Instruction;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Every legal spelling of every row of the table, as instructions. */
public final class TableWalk {

  private static final String LABEL = "$end";

  private TableWalk() {}

  /**
   * One instruction a spelling. Sources are registers; results are other registers of the same
   * class.
   */
  public static List<Instruction> spellings() {
    var all = new ArrayList<Instruction>();
    for (var form : Opcodes.all()) {
      for (var modifiers : form.everyModifiers()) {
        var operands = form.operands().stream().map(slot -> operand(slot, modifiers)).toList();
        all.add(Opcodes.instruction(form.mnemonic() + modifiers, operands, null, Source.UNKNOWN));
      }
    }
    return all;
  }

  /**
   * A kernel that has all the instructions that a target and a version have, every register written
   * before.
   */
  public static Module module(Version version, Target target) {
    var body = new ArrayList<Statement>();
    for (var registerClass : RegisterClass.values()) {
      for (int i = 0; i < 16; i++) {
        body.add(initial(new Register(registerClass, registerClass.prefix() + i)));
      }
    }
    for (var instruction : spellings()) {
      var since = instruction.since();
      if (since.version().compareTo(version) <= 0 && target.runs(since.target())) {
        boolean ends =
            instruction.form().semantics() instanceof Semantics.Exit
                || instruction.form().semantics() instanceof Semantics.Branch;
        // an unconditional end would make the rest unreachable
        body.add(
            ends
                ? new Instruction(
                    instruction.form(),
                    instruction.modifiers(),
                    instruction.operands(),
                    new Statement.Guard(new Register(RegisterClass.PRED, "%p0"), false),
                    Source.UNKNOWN)
                : instruction);
      }
    }
    body.add(new Statement.Label(LABEL, Source.UNKNOWN));
    body.add(Opcodes.instruction("ret", List.of(), null, Source.UNKNOWN));
    var kernel =
        new Kernel(
            "walk",
            List.of(new Kernel.Parameter("parameter", Type.B8, 16, 16, false)),
            List.of(new Kernel.SharedArray("array", 16, 4096)),
            List.of(variable(Modifier.Space.LOCAL, "own")),
            Limits.NONE.withMostThreads(List.of(256, 1, 1)),
            body);
    return new Module(
        version,
        target,
        List.of(
            variable(Modifier.Space.GLOBAL, "variable"),
            variable(Modifier.Space.CONST, "constant")),
        List.of(),
        List.of(kernel));
  }

  private static Variable variable(Modifier.Space space, String name) {
    return new Variable("", space, 16, Type.B32, name, 4, List.of());
  }

  private static Instruction initial(Register register) {
    var type =
        register.registerClass() == RegisterClass.PRED ? "pred" : register.registerClass().word();
    return switch (register.registerClass()) {
      case PRED ->
          Opcodes.instruction(
              "setp.eq.s32",
              List.of(register, Operand.Immediate.of(0), Operand.Immediate.of(0)),
              null,
              Source.UNKNOWN);
      case F32 ->
          Opcodes.instruction(
              "mov." + type, List.of(register, Operand.Immediate.of(0f)), null, Source.UNKNOWN);
      case F64 ->
          Opcodes.instruction(
              "mov." + type, List.of(register, Operand.Immediate.of(0.0)), null, Source.UNKNOWN);
      case B16, B32, B64 ->
          Opcodes.instruction(
              "mov." + type, List.of(register, Operand.Immediate.of(0)), null, Source.UNKNOWN);
    };
  }

  private static Operand operand(OperandSlot slot, Modifiers modifiers) {
    return switch (slot.kind()) {
      case RESULT, SOURCE -> {
        int first = slot.isResult() ? 8 : 0;
        var one = registers(slot, modifiers, first);
        yield slot.second() == null
            ? one
            : new Operand.Pair(one, registers(slot.second(), modifiers, first + 1));
      }
      case MEMORY ->
          new Operand.Address(
              modifiers.has("param")
                  ? new Operand.Symbol("parameter")
                  : isShared(slot.space(modifiers))
                      ? new Register(RegisterClass.B32, "%r0")
                      : new Register(RegisterClass.B64, "%rd0"),
              modifiers.has("param") ? 0 : 16);
      case LITERAL ->
          Operand.Immediate.of(
              slot.allowed().isEmpty() ? 1 : (int) (long) slot.allowed().iterator().next());
      case TILE ->
          new Operand.Tile(
              new Register(RegisterClass.B64, "%rd0"),
              java.util.stream.IntStream.range(0, modifiers.dimensions())
                  .<Operand>mapToObj(i -> new Register(RegisterClass.B32, "%r" + i))
                  .toList());
      case SINK -> new Operand.Sink();
      case LABEL -> new Operand.Symbol(LABEL);
      case SYMBOL ->
          new Operand.Symbol(
              modifiers.has("global")
                  ? "variable"
                  : modifiers.has("const")
                      ? "constant"
                      : modifiers.has("local")
                          ? "own"
                          : modifiers.has("param") ? "parameter" : "array");
      case SPECIAL ->
          switch (slot.type(modifiers)) {
            case PRED -> SpecialRegister.IS_EXPLICIT_CLUSTER;
            case U64 -> SpecialRegister.CLOCK64;
            default -> SpecialRegister.TID_X;
          };
    };
  }

  private static boolean isShared(Modifier.@Nullable Space space) {
    return space != null && space.isShared();
  }

  private static Operand registers(OperandSlot slot, Modifiers modifiers, int first) {
    int length = slot.length(modifiers);
    var registerClass = slot.type(modifiers).registerClass();
    var all = new ArrayList<Operand>();
    for (int i = 0; i < length; i++) {
      all.add(new Register(registerClass, registerClass.prefix() + (first + i)));
    }
    return slot.isVector(modifiers) ? new Operand.Vector(all) : all.getFirst();
  }
}
