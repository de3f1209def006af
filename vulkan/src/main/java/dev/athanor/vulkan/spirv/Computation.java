package dev.athanor.vulkan.spirv;

import dev.athanor.engine.ptx.Modifier.Rounding;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Semantics.LaneOperation;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.meaning.LaneSemantics;
import dev.athanor.vulkan.flow.UnsupportedKernelException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The instructions that compute lane by lane. Like in the emulator, f16 and bf16 are computed as
 * f32, and the modifiers {@code .ftz}, {@code .sat} and {@code .relu} filter sources and results.
 */
final class Computation {

  private final Frame frame;
  private final Code code;
  private final Integers integers;
  private final Bits bits;
  private final Floats floats;
  private final Conversions conversions;

  Computation(Frame frame) {
    this.frame = frame;
    this.code = frame.code;
    this.integers = new Integers(code);
    this.bits = new Bits(code);
    this.floats = new Floats(frame);
    this.conversions = new Conversions(code, floats);
  }

  void compute(Instruction instruction, Semantics.Pure pure) {
    var form = instruction.form();
    var modifiers = instruction.modifiers();
    var results = operands(instruction, true);
    var resultTypes = LaneSemantics.types(form, modifiers, true);
    var operands = operands(instruction, false);
    var types = LaneSemantics.types(form, modifiers, false);
    var sources = new ArrayList<Value>();
    for (int i = 0; i < operands.size(); i++) {
      sources.add(frame.bits(operands.get(i), types.get(i)));
    }
    var values = new ArrayList<Value>();
    for (int i = 0; i < results.size(); i++) {
      values.add(
          result(instruction, pure.functions().get(i), i, resultTypes.get(i), types, sources));
    }
    for (int i = 0; i < results.size(); i++) {
      frame.store(results.get(i), values.get(i), resultTypes.get(i));
    }
  }

  private Value result(
      Instruction i,
      String functions,
      int index,
      Type result,
      List<Type> types,
      List<Value> sources) {
    boolean pair = functions.equals("pairOf");
    if (!pair && types.stream().noneMatch(type -> type.kind() == Type.Kind.PACKED)) {
      return single(i, functions, result, types, sources);
    }
    if (result.bits() < 32 && result != Type.PRED) {
      throw unsupported(i);
    }
    var halves = new ArrayList<Value>();
    for (int half = 0; half < 2; half++) {
      var own = new ArrayList<Value>();
      var elements = new ArrayList<Type>();
      for (int source = 0; source < types.size(); source++) {
        var type = types.get(source);
        boolean packed = type.kind() == Type.Kind.PACKED;
        elements.add(type.element());
        own.add(
            packed
                ? code.field(
                    code.shr(sources.get(source), 16 * half), 16, Frame.isSigned(type.element()))
                : sources.get(source));
      }
      halves.add(
          pair
              ? single(
                  i, "identity", result.element(), List.of(Type.F32), List.of(own.get(1 - half)))
              : single(i, functions, result.element(), elements, own));
    }
    return result == Type.PRED
        ? halves.get(index)
        : code.or(code.and(halves.getFirst(), 0xFFFF), code.shl(halves.getLast(), 16));
  }

  private Value single(
      Instruction i, String functions, Type result, List<Type> types, List<Value> sources) {
    var modifiers = i.modifiers();
    boolean copies = is(i, LaneOperation.SELECTION);
    boolean flushes = modifiers.has("ftz");
    boolean narrows = i.form().isConversion() && result == Type.F16;
    var values = new ArrayList<Value>();
    for (int at = 0; at < sources.size(); at++) {
      boolean copied = is(i, LaneOperation.MOVE) || (copies && at < sources.size() - 1);
      var value = copied ? sources.get(at) : floats.decode(sources.get(at), types.get(at));
      boolean flushed = flushes && value.type() == Scalar.F32 && !narrows;
      values.add(flushed ? floats.flush(value, types.get(at)) : value);
    }
    var given = new Sources(values, modifiers);
    for (var function : functions.split(">", -1)) {
      given.giveBack(apply(i, function, given));
    }
    var value = given.next();
    if (value.isFloat()) {
      value = flushes && !copies && result != Type.F64 ? floats.flush(value, result) : value;
      value = modifiers.has("relu") ? floats.relu(value) : value;
      value = modifiers.has("sat") ? floats.saturate(value) : value;
      value =
          floats.encode(value, result, rounding(modifiers.find(Rounding.class).orElse(null), i));
    } else if (modifiers.has("relu") && !functions.contains("positive")) {
      throw unsupported(i);
    }
    if (result == Type.PRED || value.type() == Scalar.BOOL) {
      return value;
    }
    value = code.resize(result.bits() == 64 ? Scalar.U64 : Scalar.U32, value);
    boolean extended = i.form().isConversion() && result.kind() != Type.Kind.FLOAT;
    return result.bits() < 32
        ? code.field(value, result.bits(), extended && Frame.isSigned(result))
        : value;
  }

  private static boolean is(Instruction i, LaneOperation operation) {
    return i.form().semantics() instanceof Semantics.Pure pure && pure.operation() == operation;
  }

  private Rounding rounding(@Nullable Rounding rounding, Instruction i) {
    if (rounding == null || !rounding.roundsSignificand()) {
      return Rounding.RN;
    }
    if (i.modifiers().has("satfinite")) {
      throw unsupported(i);
    }
    return rounding;
  }

  private Value apply(Instruction i, String function, Sources given) {
    @Nullable Value found = null;
    if (i.form().isConversion()) {
      found = conversions.apply(function, given);
    } else if (given.first().isFloat()) {
      found = floats.apply(function, given);
    }
    if (found == null) {
      found = bits.apply(function, given);
    }
    if (found == null) {
      found = integers.apply(function, given);
    }
    if (found == null) {
      throw unsupported(i);
    }
    return found;
  }

  private static UnsupportedKernelException unsupported(Instruction i) {
    return new UnsupportedKernelException(
        "it has %s, which has no translation to SPIR-V".formatted(i.opcode()));
  }

  private static List<Operand> operands(Instruction instruction, boolean results) {
    var all = new ArrayList<Operand>();
    for (int i = 0; i < instruction.operands().size(); i++) {
      if (instruction.form().operands().get(i).isResult() == results) {
        all.addAll(spread(instruction.operands().get(i)).toList());
      }
    }
    all.addAll(instruction.form().impliedRegisters(results));
    return all;
  }

  private static Stream<Operand> spread(Operand operand) {
    return switch (operand) {
      case Operand.Vector v -> v.elements().stream();
      case Operand.Pair p -> Stream.of(p.first(), p.second());
      default -> Stream.of(operand);
    };
  }
}
