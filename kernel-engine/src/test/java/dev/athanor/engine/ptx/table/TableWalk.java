package dev.athanor.engine.ptx.table;

import dev.athanor.engine.ptx.Function;
import dev.athanor.engine.ptx.InstructionForm;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.LaunchBounds;
import dev.athanor.engine.ptx.Modifier;
import dev.athanor.engine.ptx.Modifiers;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.OperandSlot;
import dev.athanor.engine.ptx.RegisterClass;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Source;
import dev.athanor.engine.ptx.SpecialRegister;
import dev.athanor.engine.ptx.Statement;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.Variable;
import dev.athanor.engine.ptx.Version;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/** Every legal spelling of every row, as instructions. */
public final class TableWalk {

  private static final String LABEL = "$end";

  /** Bytes of parameters, results and call variables. */
  private static final int HANDED_OVER = 16;

  private TableWalk() {}

  /**
   * Returns one instruction per spelling. Sources are registers; results are other registers of the
   * same class.
   */
  public static List<Instruction> spellings() {
    var all = new ArrayList<Instruction>();
    for (var form : InstructionTable.all()) {
      for (var modifiers : form.allModifiers()) {
        var operands =
            form.operands().stream().map(slot -> operand(form, slot, modifiers)).toList();
        all.add(
            InstructionTable.instruction(
                form.mnemonic() + modifiers, operands, null, Source.UNKNOWN));
      }
      predicates(form, (_, register) -> new Operand.Negation(register)).ifPresent(all::add);
      predicates(
              form,
              (slot, register) ->
                  slot.takesLiteral(form.allModifiers().getFirst())
                      ? Operand.Immediate.of(0)
                      : register)
          .ifPresent(all::add);
    }
    return all;
  }

  /** Returns the first spelling of a row with other predicates as sources, if it reads any. */
  private static Optional<Instruction> predicates(
      InstructionForm form, BiFunction<OperandSlot, Register, Operand> other) {
    var modifiers = form.allModifiers().getFirst();
    var operands = new ArrayList<Operand>();
    boolean differs = false;
    for (var slot : form.operands()) {
      var operand = operand(form, slot, modifiers);
      if (slot.kind() == OperandSlot.Kind.SOURCE
          && operand instanceof Register r
          && r.registerClass() == RegisterClass.PRED) {
        operands.add(other.apply(slot, r));
        differs |= !operands.getLast().equals(r);
      } else {
        operands.add(operand);
      }
    }
    return differs
        ? Optional.of(
            InstructionTable.instruction(
                form.mnemonic() + modifiers, operands, null, Source.UNKNOWN))
        : Optional.empty();
  }

  /**
   * Returns a kernel with all instructions that a target and version support, with every register
   * initialized.
   */
  public static Module module(Version version, Target target) {
    return module(version, target, spellings());
  }

  /** Like {@link #module(Version, Target)}, with only these instructions. */
  public static Module module(Version version, Target target, List<Instruction> spellings) {
    var body = new ArrayList<Statement>();
    for (boolean gives : List.of(false, true)) {
      for (boolean takes : List.of(false, true)) {
        body.add(
            new Statement.Prototype(
                "prototype" + suffix(gives, takes),
                parameters(gives, "_"),
                parameters(takes, "_"),
                true,
                Source.UNKNOWN));
      }
    }
    body.add(new Statement.TargetList("cases", false, List.of(LABEL, LABEL), Source.UNKNOWN));
    for (var registerClass : RegisterClass.values()) {
      for (int i = 0; i < 16; i++) {
        body.add(initial(new Register(registerClass, registerClass.prefix() + i)));
      }
    }
    for (var instruction : spellings) {
      if (instruction.form().isSupported(version, target, instruction.modifiers())) {
        boolean ends =
            instruction.form().semantics() instanceof Semantics.Exit
                || instruction.form().semantics() instanceof Semantics.IndexedBranch
                || instruction.form().semantics() instanceof Semantics.Branch;
        // an unconditional exit would make the rest unreachable
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
    body.add(InstructionTable.instruction("ret", List.of(), null, Source.UNKNOWN));
    var kernel =
        new Kernel(
            "walk",
            parameters(true, "parameter"),
            List.of(new Kernel.SharedArray("array", 16, 4096)),
            List.of(
                variable(Modifier.Space.LOCAL, "own"),
                variable(Modifier.Space.PARAM, "given"),
                variable(Modifier.Space.PARAM, "result")),
            LaunchBounds.NONE.withMaxBlockShape(List.of(256, 1, 1)),
            body);
    return new Module(
        version,
        target,
        List.of(
            variable(Modifier.Space.GLOBAL, "variable"),
            variable(Modifier.Space.CONST, "constant")),
        functions(),
        List.of(kernel));
  }

  private static String suffix(boolean gives, boolean takes) {
    return "$" + (gives ? "gives" : "") + (takes ? "takes" : "");
  }

  private static List<Kernel.Parameter> parameters(boolean there, String name) {
    return there
        ? List.of(new Kernel.Parameter(name, Type.B8, HANDED_OVER, HANDED_OVER, false))
        : List.of();
  }

  private static Variable variable(Modifier.Space space, String name) {
    return new Variable("", space, HANDED_OVER, Type.B8, name, HANDED_OVER, List.of());
  }

  /** Returns a function for each shape of calls. */
  private static List<Function> functions() {
    var all = new ArrayList<Function>();
    for (boolean gives : List.of(false, true)) {
      for (boolean takes : List.of(false, true)) {
        var code =
            new Kernel(
                "function" + suffix(gives, takes),
                parameters(takes, "a"),
                List.of(),
                0,
                0,
                List.of(InstructionTable.instruction("ret", List.of(), null, Source.UNKNOWN)));
        all.add(new Function("", parameters(gives, "d"), code, true, true));
      }
    }
    return all;
  }

  private static String suffix(InstructionForm form) {
    var names =
        form.operands().stream()
            .filter(slot -> slot.kind() == OperandSlot.Kind.ARGUMENTS)
            .map(OperandSlot::name)
            .toList();
    return suffix(names.contains(OperandSlot.Name.D), names.contains(OperandSlot.Name.A));
  }

  private static Instruction initial(Register register) {
    var type =
        register.registerClass() == RegisterClass.PRED ? "pred" : register.registerClass().word();
    return switch (register.registerClass()) {
      case PRED ->
          InstructionTable.instruction(
              "setp.eq.s32",
              List.of(register, Operand.Immediate.of(0), Operand.Immediate.of(0)),
              null,
              Source.UNKNOWN);
      case F32 ->
          InstructionTable.instruction(
              "mov." + type, List.of(register, Operand.Immediate.of(0f)), null, Source.UNKNOWN);
      case F64 ->
          InstructionTable.instruction(
              "mov." + type, List.of(register, Operand.Immediate.of(0.0)), null, Source.UNKNOWN);
      case B16, B32, B64 ->
          InstructionTable.instruction(
              "mov." + type, List.of(register, Operand.Immediate.of(0)), null, Source.UNKNOWN);
    };
  }

  static Operand operand(InstructionForm form, OperandSlot slot, Modifiers modifiers) {
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
                  ? new Operand.Symbol(
                      form.semantics() instanceof Semantics.Store ? "given" : "parameter")
                  : isShared(slot.space(modifiers))
                      ? new Register(RegisterClass.B32, "%r0")
                      : new Register(RegisterClass.B64, "%rd0"),
              modifiers.has("param") ? 0 : 16);
      case LITERAL ->
          Operand.Immediate.of(
              slot.allowed().isEmpty() ? 1 : (int) (long) slot.allowed(0).iterator().next());
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
      case FUNCTION -> new Operand.Symbol("function" + suffix(form));
      case ARGUMENTS ->
          new Operand.Arguments(
              List.of(new Operand.Symbol(slot.name() == OperandSlot.Name.D ? "result" : "given")));
      case TARGETS ->
          new Operand.Symbol(
              form.semantics() instanceof Semantics.Call ? "prototype" + suffix(form) : "cases");
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
