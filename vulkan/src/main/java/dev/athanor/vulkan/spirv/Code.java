package dev.athanor.vulkan.spirv;

import dev.athanor.vulkan.spirv.SpirvModule.Section;
import java.util.function.Supplier;

/** Writes the instructions of the shader's function. */
final class Code {

  final SpirvModule module;

  Code(SpirvModule module) {
    this.module = module;
  }

  // instructions

  /** Writes an instruction without a result. */
  void effect(int opcode, int... operands) {
    module.add(Section.BODY, opcode, operands);
  }

  /** Writes an instruction and returns the id of its result. */
  int result(int opcode, int type, int... operands) {
    int id = module.id();
    var words = new int[operands.length + 2];
    words[0] = type;
    words[1] = id;
    System.arraycopy(operands, 0, words, 2, operands.length);
    effect(opcode, words);
    return id;
  }

  Value op(int opcode, Scalar type, Value... operands) {
    var ids = new int[operands.length];
    for (int i = 0; i < ids.length; i++) {
      ids[i] = operands[i].id();
    }
    return new Value(result(opcode, module.scalar(type), ids), type);
  }

  /** Writes arithmetic that must not be fused or reordered. */
  Value exact(int opcode, Scalar type, Value... operands) {
    var result = op(opcode, type, operands);
    module.decorate(result.id(), Spirv.NO_CONTRACTION);
    return result;
  }

  /** Calls a function of GLSL.std.450. */
  Value function(int number, Scalar type, Value... operands) {
    var ids = new int[operands.length + 2];
    ids[0] = module.instructionSet();
    ids[1] = number;
    for (int i = 0; i < operands.length; i++) {
      ids[i + 2] = operands[i].id();
    }
    return new Value(result(Spirv.EXT_INST, module.scalar(type), ids), type);
  }

  // constants

  Value constant(Scalar type, long bits) {
    int id = module.scalar(type);
    return new Value(
        switch (type) {
          case BOOL -> module.constant(bits == 0 ? Spirv.CONSTANT_FALSE : Spirv.CONSTANT_TRUE, id);
          case U64, F64 -> module.constant(Spirv.CONSTANT, id, (int) bits, (int) (bits >>> 32));
          case F16, U32, F32 -> module.constant(Spirv.CONSTANT, id, (int) bits);
        },
        type);
  }

  Value bool(boolean value) {
    return constant(Scalar.BOOL, value ? 1 : 0);
  }

  Value u32(int value) {
    return constant(Scalar.U32, value);
  }

  /** Returns a constant of the type of another value: a number, not bits. */
  Value like(Value other, long value) {
    return switch (other.type()) {
      case F32 -> constant(Scalar.F32, Float.floatToRawIntBits((float) value));
      case F64 -> constant(Scalar.F64, Double.doubleToRawLongBits((double) value));
      case BOOL, U32, U64, F16 -> constant(other.type(), value);
    };
  }

  // arithmetic

  Value add(Value a, Value b) {
    return a.isFloat() ? exact(Spirv.F_ADD, a.type(), a, b) : op(Spirv.I_ADD, a.type(), a, b);
  }

  Value add(Value a, long b) {
    return b == 0 ? a : add(a, like(a, b));
  }

  Value sub(Value a, Value b) {
    return a.isFloat() ? exact(Spirv.F_SUB, a.type(), a, b) : op(Spirv.I_SUB, a.type(), a, b);
  }

  Value mul(Value a, Value b) {
    return a.isFloat() ? exact(Spirv.F_MUL, a.type(), a, b) : op(Spirv.I_MUL, a.type(), a, b);
  }

  Value div(Value a, Value b) {
    return exact(Spirv.F_DIV, a.type(), a, b);
  }

  Value and(Value a, Value b) {
    return op(a.type() == Scalar.BOOL ? Spirv.LOGICAL_AND : Spirv.BITWISE_AND, a.type(), a, b);
  }

  Value and(Value a, long b) {
    return and(a, like(a, b));
  }

  Value or(Value a, Value b) {
    return op(a.type() == Scalar.BOOL ? Spirv.LOGICAL_OR : Spirv.BITWISE_OR, a.type(), a, b);
  }

  Value xor(Value a, Value b) {
    return op(
        a.type() == Scalar.BOOL ? Spirv.LOGICAL_NOT_EQUAL : Spirv.BITWISE_XOR, a.type(), a, b);
  }

  Value not(Value a) {
    return op(a.type() == Scalar.BOOL ? Spirv.LOGICAL_NOT : Spirv.NOT, a.type(), a);
  }

  /** Shifts by fewer bits than the width. */
  Value shl(Value a, Value by) {
    return op(Spirv.SHIFT_LEFT_LOGICAL, a.type(), a, by);
  }

  Value shl(Value a, int by) {
    return by == 0 ? a : shl(a, u32(by));
  }

  /** Shifts zeros in, by fewer bits than the width. */
  Value shr(Value a, Value by) {
    return op(Spirv.SHIFT_RIGHT_LOGICAL, a.type(), a, by);
  }

  Value shr(Value a, int by) {
    return by == 0 ? a : shr(a, u32(by));
  }

  /** Shifts copies of the sign in, by fewer bits than the width. */
  Value sar(Value a, Value by) {
    return op(Spirv.SHIFT_RIGHT_ARITHMETIC, a.type(), a, by);
  }

  Value sar(Value a, int by) {
    return sar(a, u32(by));
  }

  // comparison and selection

  Value test(int opcode, Value... operands) {
    return op(opcode, Scalar.BOOL, operands);
  }

  Value equal(Value a, Value b) {
    return test(
        a.isFloat()
            ? Spirv.F_ORD_EQUAL
            : a.type() == Scalar.BOOL ? Spirv.LOGICAL_EQUAL : Spirv.I_EQUAL,
        a,
        b);
  }

  Value equal(Value a, long b) {
    return equal(a, like(a, b));
  }

  Value below(Value a, Value b) {
    return test(Spirv.U_LESS_THAN, a, b);
  }

  Value below(Value a, long b) {
    return below(a, like(a, b));
  }

  Value isNegative(Value a) {
    return test(Spirv.S_LESS_THAN, a, like(a, 0));
  }

  Value isNan(Value a) {
    return test(Spirv.IS_NAN, a);
  }

  Value select(Value condition, Value a, Value b) {
    return op(Spirv.SELECT, a.type(), condition, a, b);
  }

  Value minUnsigned(Value a, Value b) {
    return select(below(a, b), a, b);
  }

  // conversion

  /** Returns the bits of a number; the value itself if it is an integer. */
  Value bits(Value a) {
    return a.type() == a.type().bits() ? a : op(Spirv.BITCAST, a.type().bits(), a);
  }

  /** Returns bits as a number. */
  Value number(Scalar type, Value bits) {
    return bits.type() == type ? bits : op(Spirv.BITCAST, type, bits);
  }

  /** Zero-extends or truncates an integer. */
  Value resize(Scalar type, Value a) {
    return a.type() == type ? a : op(Spirv.U_CONVERT, type, a);
  }

  /**
   * Sign-extends or truncates an integer. Mesa compares extended integers with literals wrongly.
   */
  Value extend(Scalar type, Value a) {
    return type == Scalar.U64 && a.type() == Scalar.U32 ? join(a, sar(a, 31)) : resize(type, a);
  }

  Value toFloat(Scalar type, Value a) {
    return a.type() == type ? a : op(Spirv.F_CONVERT, type, a);
  }

  /** Extends the low bits of a word. */
  Value field(Value a, int bits, boolean signed) {
    return signed ? sar(shl(a, 32 - bits), 32 - bits) : and(a, (1L << bits) - 1);
  }

  /** Joins two words. */
  Value join(Value low, Value high) {
    int pair =
        result(
            Spirv.COMPOSITE_CONSTRUCT, module.vector(module.integer(32), 2), low.id(), high.id());
    return new Value(result(Spirv.BITCAST, module.integer(64), pair), Scalar.U64);
  }

  Value low(Value a) {
    return resize(Scalar.U32, a);
  }

  Value high(Value a) {
    return low(shr(a, 32));
  }

  // variables

  Value load(int pointer, Scalar type) {
    return new Value(result(Spirv.LOAD, module.scalar(type), pointer), type);
  }

  void store(int pointer, Value value) {
    effect(Spirv.STORE, pointer, value.id());
  }

  /** Loads a word of shared memory. */
  Value loadShared(int pointer) {
    int words = module.integer(32);
    return new Value(
        result(Spirv.LOAD, words, SpirvModule.join(new int[] {pointer}, module.shared())),
        Scalar.U32);
  }

  /** Stores a word to shared memory. */
  void storeShared(int pointer, Value word) {
    effect(Spirv.STORE, SpirvModule.join(new int[] {pointer, word.id()}, module.shared()));
  }

  // control flow

  int label() {
    return module.id();
  }

  void begin(int label) {
    effect(Spirv.LABEL, label);
  }

  void jump(int label) {
    effect(Spirv.BRANCH, label);
  }

  /** Executes instructions where a condition holds. */
  void onlyIf(Value condition, Runnable body) {
    int then = label();
    int merge = label();
    effect(Spirv.SELECTION_MERGE, merge, 0);
    effect(Spirv.BRANCH_CONDITIONAL, condition.id(), then, merge);
    begin(then);
    body.run();
    jump(merge);
    begin(merge);
  }

  /**
   * Executes instructions once, and again while they return true. Mesa's CPU driver gives threads
   * that leave a loop early wrong values unless the test is first in the loop.
   */
  void loop(Supplier<Value> body) {
    int repeats = module.local(module.scalar(Scalar.BOOL));
    int header = label();
    int test = label();
    int first = label();
    int latch = label();
    int merge = label();
    store(repeats, bool(true));
    jump(header);
    begin(header);
    effect(Spirv.LOOP_MERGE, merge, latch, 0);
    jump(test);
    begin(test);
    var again = load(repeats, Scalar.BOOL);
    effect(Spirv.BRANCH_CONDITIONAL, again.id(), first, merge);
    begin(first);
    store(repeats, body.get());
    jump(latch);
    begin(latch);
    jump(header);
    begin(merge);
  }

  /** Waits for all threads of the block. */
  void barrier() {
    effect(
        Spirv.CONTROL_BARRIER,
        module.word(Spirv.WORKGROUP_SCOPE),
        module.word(Spirv.WORKGROUP_SCOPE),
        module.ordered());
  }
}
