package dev.athanor.vulkan.spirv;

import dev.athanor.engine.ptx.Modifier.Logic;
import dev.athanor.engine.ptx.Type;
import dev.athanor.vulkan.flow.UnsupportedKernelException;
import java.util.ArrayList;
import org.jspecify.annotations.Nullable;

/** Lane functions of bits, bytes and predicates, by the names in the instruction table. */
final class Bits {

  private final Code code;

  Bits(Code code) {
    this.code = code;
  }

  /** Returns the value of a function; null if there is none of this name. */
  @Nullable Value apply(String name, Sources s) {
    return switch (name) {
      case "identity" -> s.next();
      case "and" -> code.and(s.next(), s.next());
      case "or" -> code.or(s.next(), s.next());
      case "xor" -> code.xor(s.next(), s.next());
      case "not" -> code.not(s.next());
      case "shl" -> shift(Spirv.SHIFT_LEFT_LOGICAL, s.next(), s.next());
      case "shrUnsigned" -> shift(Spirv.SHIFT_RIGHT_LOGICAL, s.next(), s.next());
      case "shr" -> {
        var a = s.next();
        yield code.sar(a, code.minUnsigned(s.next(), code.u32(a.type().width() - 1)));
      }
      case "select" -> {
        var a = s.next();
        var b = s.next();
        yield code.select(s.next(), a, b);
      }
      case "combine" -> {
        var a = s.next();
        var b = s.next();
        yield switch (s.modifiers().find(Logic.class).orElseThrow()) {
          case AND -> code.and(a, b);
          case OR -> code.or(a, b);
          case XOR -> code.xor(a, b);
        };
      }
      case "isNotZero" -> code.not(code.equal(s.next(), 0));
      case "isZero" -> {
        var a = s.next();
        yield code.select(code.equal(a, 0), code.like(a, 1), code.like(a, 0));
      }
      case "first" -> {
        var a = s.next();
        s.next();
        yield a;
      }
      case "toMask" -> code.select(s.next(), code.u32(-1), code.u32(0));
      case "oneIfTrue" -> {
        var zero = code.constant(Scalar.F32, 0);
        yield code.select(s.next(), code.like(zero, 1), zero);
      }
      case "policy" -> throw new UnsupportedKernelException("it creates a cache policy");
      default -> packing(name, s);
    };
  }

  private @Nullable Value packing(String name, Sources s) {
    return switch (name) {
      case "pack" -> pair(s.next(), s.next());
      case "pack64" -> code.join(s.next(), s.next());
      case "pack4" -> code.join(pair(s.next(), s.next()), pair(s.next(), s.next()));
      case "low16" -> code.and(s.next(), 0xFFFF);
      case "high16" -> code.shr(s.next(), 16);
      case "low32" -> code.low(s.next());
      case "high32" -> code.high(s.next());
      case "quarter0" -> code.and(code.low(s.next()), 0xFFFF);
      case "quarter1" -> code.shr(code.low(s.next()), 16);
      case "quarter2" -> code.and(code.high(s.next()), 0xFFFF);
      case "quarter3" -> code.shr(code.high(s.next()), 16);
      default -> counting(name, s);
    };
  }

  private @Nullable Value counting(String name, Sources s) {
    return switch (name) {
      case "countOnes" -> {
        var a = s.next();
        yield a.type() == Scalar.U32
            ? code.op(Spirv.BIT_COUNT, Scalar.U32, a)
            : code.add(
                code.op(Spirv.BIT_COUNT, Scalar.U32, code.low(a)),
                code.op(Spirv.BIT_COUNT, Scalar.U32, code.high(a)));
      }
      case "leadingZeros" -> leadingZeros(s.next());
      case "highestBit" ->
          highest(code.xor(s.first(), code.sar(s.first(), s.next().type().width() - 1)));
      case "highestBitUnsigned" -> highest(s.next());
      case "shiftToTop" ->
          toTop(code.xor(s.first(), code.sar(s.first(), s.next().type().width() - 1)));
      case "shiftToTopUnsigned" -> toTop(s.next());
      case "reverse" -> {
        var a = s.next();
        yield a.type() == Scalar.U32
            ? code.op(Spirv.BIT_REVERSE, Scalar.U32, a)
            : code.join(
                code.op(Spirv.BIT_REVERSE, Scalar.U32, code.high(a)),
                code.op(Spirv.BIT_REVERSE, Scalar.U32, code.low(a)));
      }
      case "extract" -> extract(s.next(), s.next(), s.next(), true);
      case "extractUnsigned" -> extract(s.next(), s.next(), s.next(), false);
      case "insert" -> insert(s.next(), s.next(), s.next(), s.next());
      default -> combining(name, s);
    };
  }

  private @Nullable Value combining(String name, Sources s) {
    return switch (name) {
      case "lookUp" -> lookUp(s.next(), s.next(), s.next(), s.next());
      case "permute" -> permute(s.next(), s.next(), s.next());
      case "funnelLeftWrap" -> funnel(s, true, false);
      case "funnelLeftClamp" -> funnel(s, true, true);
      case "funnelRightWrap" -> funnel(s, false, false);
      case "funnelRightClamp" -> funnel(s, false, true);
      case "dot4" -> {
        var types = s.modifiers().types();
        var a = s.next();
        var b = s.next();
        var sum = s.next();
        for (int i = 0; i < 4; i++) {
          sum = code.add(sum, code.mul(part(a, i, 8, types.get(0)), part(b, i, 8, types.get(1))));
        }
        yield sum;
      }
      case "dot2Low" -> dot2(s, 0);
      case "dot2High" -> dot2(s, 2);
      default -> null;
    };
  }

  private Value dot2(Sources s, int first) {
    var types = s.modifiers().types();
    var a = s.next();
    var b = s.next();
    var sum = s.next();
    for (int i = 0; i < 2; i++) {
      var product = code.mul(part(a, i, 16, types.get(0)), part(b, first + i, 8, types.get(1)));
      sum = code.add(sum, product);
    }
    return sum;
  }

  private Value part(Value a, int index, int width, Type type) {
    return code.field(code.shr(a, width * index), width, Frame.isSigned(type));
  }

  private Value pair(Value low, Value high) {
    return code.or(code.and(low, 0xFFFF), code.shl(high, 16));
  }

  /** Shifts; an amount of the width or more leaves zero. */
  private Value shift(int opcode, Value a, Value by) {
    int width = a.type().width();
    var shifted = code.op(opcode, a.type(), a, code.and(by, width - 1));
    return code.select(code.below(by, width), shifted, code.like(a, 0));
  }

  private Value leadingZeros(Value a) {
    return code.sub(code.u32(a.type().width() - 1), highest(a));
  }

  /** Returns the highest bit that is set; -1 if there is none. */
  private Value highest(Value a) {
    if (a.type() == Scalar.U32) {
      return code.function(Spirv.FIND_U_MSB, Scalar.U32, a);
    }
    var high = code.high(a);
    return code.select(code.equal(high, 0), highest(code.low(a)), code.add(highest(high), 32));
  }

  private Value toTop(Value a) {
    return code.select(code.equal(a, 0), code.u32(-1), leadingZeros(a));
  }

  /** Returns ones in the low bits, for up to the width of a type. */
  private Value lowBits(Scalar type, Value count) {
    int width = type.width();
    var zero = code.constant(type, 0);
    var all = code.not(zero);
    return code.select(
        code.below(count, width), code.not(code.shl(all, code.and(count, width - 1))), all);
  }

  private Value clamped(Value a, Value count) {
    return a.type() == Scalar.U32 ? code.and(count, 0xFF) : count;
  }

  private Value extract(Value a, Value position, Value length, boolean signed) {
    int width = a.type().width();
    var from = clamped(a, position);
    var count = code.minUnsigned(clamped(a, length), code.u32(width));
    if (!signed) {
      return code.and(shift(Spirv.SHIFT_RIGHT_LOGICAL, a, from), lowBits(a.type(), count));
    }
    // the sign is the top bit of the field, or of the number if the field is not whole
    var low = code.minUnsigned(from, code.u32(width - 1));
    var top = code.minUnsigned(code.add(low, code.sub(count, code.u32(1))), code.u32(width - 1));
    var left = code.sub(code.u32(width - 1), top);
    var right = code.minUnsigned(code.add(left, from), code.u32(width - 1));
    var field = code.sar(code.shl(a, code.and(left, width - 1)), right);
    return code.select(code.equal(count, 0), code.like(a, 0), field);
  }

  private Value insert(Value a, Value b, Value position, Value length) {
    var from = clamped(a, position);
    var count = code.minUnsigned(clamped(a, length), code.u32(a.type().width()));
    var field = shift(Spirv.SHIFT_LEFT_LOGICAL, lowBits(a.type(), count), from);
    var moved = shift(Spirv.SHIFT_LEFT_LOGICAL, a, from);
    return code.or(code.and(b, code.not(field)), code.and(moved, field));
  }

  private Value lookUp(Value a, Value b, Value c, Value table) {
    var terms = new ArrayList<Value>();
    for (int i = 0; i < 8; i++) {
      var bit = code.sar(code.shl(table, 31 - i), 31);
      var own = code.and(bit, (i & 4) != 0 ? a : code.not(a));
      own = code.and(own, (i & 2) != 0 ? b : code.not(b));
      terms.add(code.and(own, (i & 1) != 0 ? c : code.not(c)));
    }
    return terms.stream().reduce(code::or).orElseThrow();
  }

  /** Selects four of eight bytes; bit 3 of a selector replicates the byte's sign. */
  private Value permute(Value a, Value b, Value selectors) {
    var all = code.join(a, b);
    var bytes = new ArrayList<Value>();
    for (int i = 0; i < 4; i++) {
      var selector = code.shr(selectors, 4 * i);
      var at = code.shl(code.and(selector, 7), 3);
      var value = code.field(code.low(code.shr(all, at)), 8, true);
      var isSign = code.not(code.equal(code.and(selector, 8), 0));
      var chosen = code.select(isSign, code.sar(value, 7), value);
      bytes.add(code.shl(code.and(chosen, 0xFF), 8 * i));
    }
    return bytes.stream().reduce(code::or).orElseThrow();
  }

  private Value funnel(Sources s, boolean left, boolean clamps) {
    var all = code.join(s.next(), s.next());
    var by = clamps ? code.minUnsigned(s.next(), code.u32(32)) : code.and(s.next(), 31);
    return left ? code.high(code.shl(all, by)) : code.low(code.shr(all, by));
  }
}
