package dev.athanor.engine.author;

import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Immediate;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Type;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An access to consecutive elements by one load or store: a vector of the elements, or of 32-bit
 * words that pack several smaller ones.
 */
record VectorAccess(Type element, int count) {

  private static final int WORD = 4;
  private static final int MAX_BYTES = 16;

  VectorAccess {
    int bytes = element.bytes() * count;
    if (Integer.bitCount(count) != 1 || bytes > MAX_BYTES) {
      throw new IllegalArgumentException(
          "one access transfers 1, 2, 4, 8 or 16 elements and at most 16 bytes, got %d of .%s"
              .formatted(count, element.word()));
    }
  }

  /** Loads the elements; yields zeros in threads where the condition does not hold. */
  List<Value> load(
      BodyEmitter emitter, @Nullable Register condition, String opcode, Operand.Address address) {
    if (count == 1) {
      return registers(emitter, condition, opcode, address, element, memoryType(element), 1);
    }
    int perWord = WORD / element.bytes();
    if (perWord <= 1) {
      return registers(emitter, condition, opcode, address, element, memoryType(element), count);
    }
    if (count < perWord) {
      var both = registers(emitter, condition, opcode, address, Type.B16, "b16", 1).getFirst();
      return both.bits().bytes(element).subList(0, count);
    }
    var values = new ArrayList<Value>();
    for (var word :
        registers(emitter, condition, opcode, address, Type.B32, "b32", count / perWord)) {
      values.addAll(perWord == 2 ? word.halves(element) : word.bits().bytes(element));
    }
    return values;
  }

  private static List<Value> registers(
      BodyEmitter emitter,
      @Nullable Register condition,
      String opcode,
      Operand.Address address,
      Type type,
      String memoryType,
      int count) {
    var values = new ArrayList<Value>();
    for (int i = 0; i < count; i++) {
      var d = emitter.register(type);
      if (condition != null) {
        emitter.emit("mov." + type.registerClass().word(), d, zero(type));
      }
      values.add(new Value(emitter, type, d));
    }
    var name = opcode + (count == 1 ? "." : ".v" + count + ".") + memoryType;
    var target = count == 1 ? values.getFirst().operand() : Value.vector(values);
    emitter.emitIf(condition, name, target, address);
    return values;
  }

  void store(
      BodyEmitter emitter,
      @Nullable Register condition,
      String opcode,
      Operand.Address address,
      List<? extends Value> values) {
    values.forEach(this::requireElement);
    int perWord = WORD / element.bytes();
    List<? extends Value> moved = values;
    var memoryType = memoryType(element);
    if (count > 1 && perWord == 2) {
      moved = pairs(values);
      memoryType = "b32";
    } else if (count == 2 && perWord == 4) {
      moved = List.of(values.get(0).bits().and(255).or(values.get(1).bits().shl(8)).value());
      memoryType = "b16";
    } else if (count > 2 && perWord == 4) {
      moved = words(values);
      memoryType = "b32";
    }
    var name = opcode + (moved.size() == 1 ? "." : ".v" + moved.size() + ".") + memoryType;
    var source = moved.size() == 1 ? moved.getFirst().operand() : Value.vector(moved);
    emitter.emitIf(condition, name, address, source);
  }

  /** PTX would store the bits of any value, and the low bits of a wider one. */
  private void requireElement(Value given) {
    var type = given.type();
    boolean sameBits =
        type.bits() == element.bits()
            && (type.kind() == Type.Kind.BITS || element.kind() == Type.Kind.BITS);
    boolean narrowed = isInteger(type) && isInteger(element) && type.bits() >= element.bits();
    if (type != element && !sameBits && !narrowed) {
      throw new IllegalArgumentException(
          "%s: cannot store a value of .%s in an element of .%s; %s"
              .formatted(
                  BodyEmitter.here(),
                  type.word(),
                  element.word(),
                  type.bits() == element.bits()
                      ? "convert it, or reinterpret its bits with as()"
                      : "convert it first"));
    }
  }

  private static boolean isInteger(Type type) {
    return switch (type.kind()) {
      case SIGNED, UNSIGNED, BITS -> true;
      case PREDICATE, FLOAT, PACKED -> false;
    };
  }

  private static List<Value> pairs(List<? extends Value> values) {
    var words = new ArrayList<Value>();
    for (int i = 0; i < values.size(); i += 2) {
      words.add(Value.pack(values.get(i), values.get(i + 1)));
    }
    return words;
  }

  /** Packs the lowest bytes of four integers into each word. */
  private static List<Value> words(List<? extends Value> values) {
    var words = new ArrayList<Value>();
    for (int i = 0; i < values.size(); i += 4) {
      var word = values.get(i).bits().and(255);
      for (int b = 1; b < 4; b++) {
        var part = values.get(i + b).bits();
        word = word.or((b < 3 ? part.and(255) : part).shl(8 * b));
      }
      words.add(word.value());
    }
    return words;
  }

  /** Returns the type's name in loads and stores, which have only bit types for some formats. */
  static String memoryType(Type type) {
    return switch (type) {
      case F16, BF16 -> "b16";
      case E4M3, E5M2 -> "b8";
      case TF32 -> "b32";
      default -> type.word();
    };
  }

  private static Immediate zero(Type type) {
    return switch (type) {
      case F32 -> Immediate.of(0f);
      case F64 -> Immediate.of(0.0);
      default -> Immediate.of(0);
    };
  }
}
