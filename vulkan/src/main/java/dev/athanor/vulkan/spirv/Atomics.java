package dev.athanor.vulkan.spirv;

import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Type;
import dev.athanor.vulkan.flow.UnsupportedKernelException;
import java.util.List;
import java.util.function.UnaryOperator;

/** The instructions {@code atom} and {@code red}, and loads and stores with a memory order. */
final class Atomics {

  private static final List<String> ORDERS = List.of("relaxed", "acquire", "release", "volatile");

  private final Frame frame;
  private final Code code;
  private final Memory memory;

  Atomics(Frame frame, Memory memory) {
    this.frame = frame;
    this.code = frame.code;
    this.memory = memory;
  }

  /** Returns whether a load or store of one number must not be omitted, repeated or split. */
  static boolean isOrdered(Instruction i) {
    return ORDERS.stream().anyMatch(i.modifiers()::has)
        && i.modifiers().type().orElseThrow().bits() >= 32
        && !i.modifiers().has("local")
        && i.operands().stream().noneMatch(Operand.Vector.class::isInstance);
  }

  void load(Instruction i) {
    var type = i.modifiers().type().orElseThrow();
    var word = word(i, type);
    int value =
        code.result(
            Spirv.ATOMIC_LOAD,
            code.module.scalar(word),
            memory.atomicPointer(i, 1, word),
            code.module.word(scope(i, 1)),
            code.module.word(0));
    if (i.modifiers().has("acquire")) {
      fence(i, 1);
    }
    frame.store(i.operands().getFirst(), new Value(value, word), type);
  }

  void store(Instruction i) {
    var type = i.modifiers().type().orElseThrow();
    var value = frame.bits(i.operands().get(1), type);
    if (i.modifiers().has("release")) {
      fence(i, 0);
    }
    code.effect(
        Spirv.ATOMIC_STORE,
        memory.atomicPointer(i, 0, word(i, type)),
        code.module.word(scope(i, 0)),
        code.module.word(0),
        value.id());
  }

  /** Orders accesses as an acquiring load or a releasing store does, on the side where it is. */
  private void fence(Instruction i, int address) {
    code.effect(Spirv.MEMORY_BARRIER, code.module.word(scope(i, address)), code.module.ordered());
  }

  private static int scope(Instruction i, int address) {
    return Memory.space(i, address) == Space.GLOBAL ? Spirv.DEVICE_SCOPE : Spirv.WORKGROUP_SCOPE;
  }

  private Scalar word(Instruction i, Type type) {
    if (type.bits() < 64) {
      return Scalar.U32;
    }
    if (!frame.features.int64Atomics()) {
      throw new UnsupportedKernelException(
          "it has %s, which needs a device with atomic operations of 64 bits"
              .formatted(i.opcode()));
    }
    code.module.capability(Spirv.INT64_ATOMICS);
    return Scalar.U64;
  }

  void update(Instruction i, boolean returnsOld) {
    var type = i.modifiers().type().orElseThrow();
    int address = returnsOld ? 1 : 0;
    var operand = i.operands().get(address + 1);
    if (operand instanceof Operand.Vector || type.bits() < 32) {
      throw unsupported(i);
    }
    var word = word(i, type);
    int pointer = memory.atomicPointer(i, address, word);
    int scope = scope(i, address);
    var value = frame.bits(operand, type);
    int opcode = opcode(i, type);
    Value old;
    if (opcode != 0) {
      old = memory.atomic(opcode, pointer, scope, value);
    } else if (i.modifiers().has("cas")) {
      old = exchange(pointer, scope, value, frame.bits(i.operands().get(address + 2), type));
    } else {
      old = replace(pointer, scope, word, function(i, type, value));
    }
    if (returnsOld) {
      frame.store(i.operands().getFirst(), old, type);
    }
  }

  /** Returns the opcode of an operation; 0 if SPIR-V has none. */
  private static int opcode(Instruction i, Type type) {
    boolean signed = Frame.isSigned(type);
    boolean whole = type.kind() != Type.Kind.FLOAT && type.kind() != Type.Kind.PACKED;
    for (var modifier : i.modifiers().list()) {
      int opcode =
          switch (modifier.word()) {
            case "add" -> whole ? Spirv.ATOMIC_I_ADD : 0;
            case "and" -> Spirv.ATOMIC_AND;
            case "or" -> Spirv.ATOMIC_OR;
            case "xor" -> Spirv.ATOMIC_XOR;
            case "exch" -> Spirv.ATOMIC_EXCHANGE;
            case "min" -> whole ? signed ? Spirv.ATOMIC_S_MIN : Spirv.ATOMIC_U_MIN : 0;
            case "max" -> whole ? signed ? Spirv.ATOMIC_S_MAX : Spirv.ATOMIC_U_MAX : 0;
            default -> 0;
          };
      if (opcode != 0) {
        return opcode;
      }
    }
    return 0;
  }

  private UnaryOperator<Value> function(Instruction i, Type type, Value operand) {
    if (i.modifiers().has("inc")) {
      return old -> code.select(code.below(old, operand), code.add(old, 1), code.u32(0));
    }
    if (i.modifiers().has("dec")) {
      return old -> {
        var wraps = code.or(code.equal(old, 0), code.below(operand, old));
        return code.select(wraps, operand, code.sub(old, code.u32(1)));
      };
    }
    if (i.modifiers().has("add") && (type == Type.F32 || type == Type.F64)) {
      var number = type == Type.F32 ? Scalar.F32 : Scalar.F64;
      return old -> code.bits(code.add(code.number(number, old), code.number(number, operand)));
    }
    throw unsupported(i);
  }

  /** Replaces a word by a function of it: tries until no other thread intervenes. */
  private Value replace(int pointer, int scope, Scalar type, UnaryOperator<Value> function) {
    int variable = code.module.local(code.module.scalar(type));
    var zero = code.constant(type, 0);
    code.store(variable, memory.atomic(Spirv.ATOMIC_OR, pointer, scope, zero));
    code.loop(() -> {
      var expected = code.load(variable, type);
      var found = exchange(pointer, scope, expected, function.apply(expected));
      code.store(variable, found);
      return code.not(code.equal(found, expected));
    });
    return code.load(variable, type);
  }

  private Value exchange(int pointer, int scope, Value expected, Value replacement) {
    int relaxed = code.module.word(0);
    return new Value(
        code.result(
            Spirv.ATOMIC_COMPARE_EXCHANGE,
            code.module.scalar(expected.type()),
            pointer,
            code.module.word(scope),
            relaxed,
            relaxed,
            replacement.id(),
            expected.id()),
        expected.type());
  }

  private static UnsupportedKernelException unsupported(Instruction i) {
    return new UnsupportedKernelException(
        "it has %s, which has no translation to SPIR-V".formatted(i.opcode()));
  }
}
