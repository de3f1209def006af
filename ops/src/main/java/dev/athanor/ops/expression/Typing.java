package dev.athanor.ops.expression;

import dev.athanor.ops.DType;
import dev.athanor.ops.OpException;
import dev.athanor.ops.expression.Function.Rule;
import dev.athanor.ops.expression.Term.Literal;
import dev.athanor.ops.expression.Term.Result;
import dev.athanor.ops.map.Rounding;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * Assigns dtypes to the parts of an expression and writes its program.
 *
 * <p>The kinds are bool, integer and float. The higher kind of two operands wins, and within a kind
 * the wider dtype. A literal or a constant is weak: it takes the dtype of the other operand, unless
 * its kind is higher; then it counts as i64 or f32. Operations on literals are computed here.
 */
final class Typing {

  /** The greatest exponent for which a power becomes multiplications. */
  private static final long MAX_FLOAT_POWER = 8;

  private static final long MAX_INTEGER_POWER = 64;

  private final List<DType> inputs;
  private final List<Expression.Constant> constants;

  /** The instructions and their numbers. */
  private final Map<Instruction, Integer> code = new LinkedHashMap<>();

  private final Map<ScalarValue, Integer> literals = new LinkedHashMap<>();
  private final boolean[] used;

  Typing(List<DType> inputs, List<Expression.Constant> constants) {
    this.inputs = inputs;
    this.constants = constants;
    used = new boolean[inputs.size()];
  }

  /** Returns the error for a part of the expression. */
  static OpException error(int position, String message) {
    return new OpException.InvalidAttribute(
        MapOp.EXPRESSION,
        "%s, character %d: %s".formatted(MapOp.EXPRESSION, position + 1, message));
  }

  Term input(int position, int index) {
    if (index >= inputs.size()) {
      throw error(
          position,
          "input x%d is not given; the inputs are %s"
              .formatted(index, inputs.size() == 1 ? "x0" : "x0 to x" + (inputs.size() - 1)));
    }
    used[index] = true;
    return emit(Instruction.input(index, inputs.get(index)));
  }

  Term constant(int position, int index) {
    if (index >= constants.size()) {
      throw error(
          position,
          "constant c%d is not given; the attribute \"%s\" has length %d"
              .formatted(index, MapOp.CONSTANTS, constants.size()));
    }
    var constant = constants.get(index);
    return Literal.constant(constant.name(), constant.value());
  }

  /** Applies a function or an operator to the right number of operands. */
  Term call(int position, Function function, List<Term> operands) {
    if (function == Function.WHERE) {
      return where(position, operands);
    }
    if (function == Function.POWER) {
      return power(position, operands.getFirst(), operands.getLast());
    }
    var common = operands.getFirst();
    for (var operand : operands) {
      common = promoted(common, operand);
    }
    var dtype = operandType(position, function, common);
    if (function.rule() == Rule.ROUNDING && !dtype.isFloat()) {
      return cast(position, dtype, operands.getFirst(), common.weak());
    }
    if (operands.getLast() instanceof Literal divisor && !dtype.isFloat()) {
      var bits = bits(position, function, operands.getFirst(), divisor, dtype);
      if (bits.isPresent()) {
        return bits.get();
      }
    }
    boolean isBool = function.rule() == Rule.COMPARISON || function.rule() == Rule.TEST;
    return apply(position, function, operands, dtype, isBool ? DType.BOOL : dtype, common.weak());
  }

  /** Returns a quotient or remainder by a power of two as an operation on bits. */
  private Optional<Term> bits(
      int position, Function function, Term x, Literal divisor, DType dtype) {
    if (x instanceof Literal
        || (function != Function.FLOOR_DIVIDE && function != Function.MODULO)) {
      return Optional.empty();
    }
    long by = literal(position, divisor, dtype).whole();
    if (by < 1 || Long.bitCount(by) > 1) {
      return Optional.empty();
    }
    boolean divides = function == Function.FLOOR_DIVIDE;
    var number = Literal.whole(divides ? Long.numberOfTrailingZeros(by) : by - 1);
    return Optional.of(
        apply(
            position,
            divides ? Function.SHIFT_RIGHT : Function.BIT_AND,
            List.of(x, number),
            dtype,
            dtype,
            false));
  }

  /** Returns the dtype to which the operands of a function are converted. */
  private static DType operandType(int position, Function function, Term common) {
    var dtype = common.dtype();
    return switch (function.rule()) {
      case LOGIC -> DType.BOOL;
      case BITS, SHIFT -> {
        if (dtype.isFloat()) {
          throw error(
              position,
              "%s of %s is not supported; use integers, for example i32(…)"
                  .formatted(function.text(), dtype.text()));
        }
        yield function.rule() == Rule.SHIFT ? number(dtype) : dtype;
      }
      case QUOTIENT, TEST -> dtype.isFloat() ? dtype : DType.F32;
      case REAL -> {
        requireSingle(position, function, dtype);
        yield dtype.isFloat() ? dtype : DType.F32;
      }
      case COMPARISON, ARITHMETIC, ROUNDING, NONE -> number(dtype);
    };
  }

  private static DType number(DType dtype) {
    return dtype == DType.BOOL ? DType.I32 : dtype;
  }

  private static void requireSingle(int position, Function function, DType dtype) {
    if (dtype == DType.F64) {
      throw error(
          position,
          "%s is not available in f64; cast its operand to f32, for example %s"
              .formatted(
                  function.text(),
                  function == Function.POWER ? "f32(x) ** 1.5" : function.text() + "(f32(x))"));
    }
  }

  private Term apply(
      int position,
      Function function,
      List<Term> operands,
      DType computed,
      DType dtype,
      boolean weak) {
    if (operands.stream().allMatch(Literal.class::isInstance)) {
      boolean isWeak = weak && dtype != DType.BOOL;
      // numbers without a dtype are computed in f64
      var in = isWeak && computed.isFloat() ? DType.F64 : computed;
      var numbers = new ArrayList<ScalarValue>();
      for (var operand : operands) {
        numbers.add(literal(position, (Literal) operand, in));
      }
      return new Literal(dtype, isWeak, Evaluator.apply(function, in, numbers), "");
    }
    var numbers = new ArrayList<Integer>();
    for (var operand : operands) {
      numbers.add(materialize(position, operand, computed));
    }
    return emit(new Instruction(function, dtype, computed, numbers, 0));
  }

  private Result emit(Instruction instruction) {
    int number = code.computeIfAbsent(instruction, _ -> code.size());
    return new Result(instruction.dtype(), false, number, List.of());
  }

  private Term where(int position, List<Term> operands) {
    var common = promoted(operands.get(1), operands.get(2));
    return where(position, operands, common.dtype(), common.weak());
  }

  private Term where(int position, List<Term> operands, DType dtype, boolean weak) {
    if (operands.stream().allMatch(Literal.class::isInstance)) {
      var chosen = (Literal) operands.get(((Literal) operands.getFirst()).value().isTrue() ? 1 : 2);
      return new Literal(dtype, weak, literal(position, chosen, weak ? wide(dtype) : dtype), "");
    }
    var numbers =
        List.of(
            materialize(position, operands.getFirst(), DType.BOOL),
            materialize(position, operands.get(1), dtype),
            materialize(position, operands.get(2), dtype));
    int number = emit(new Instruction(Function.WHERE, dtype, dtype, numbers, 0)).number();
    return new Result(dtype, weak, number, operands);
  }

  private static DType wide(DType dtype) {
    return dtype.isFloat() ? DType.F64 : dtype;
  }

  /** Returns a power: multiplications or a root for some literal exponents. */
  private Term power(int position, Term base, Term exponent) {
    var common = promoted(base, exponent);
    var dtype = number(common.dtype());
    boolean folds = base instanceof Literal && exponent instanceof Literal;
    if (exponent instanceof Literal literal && !(folds && dtype.isFloat())) {
      double value = literal.value().toReal();
      if (dtype.isFloat() && Math.abs(value) == 0.5) {
        return call(position, value > 0 ? Function.SQRT : Function.RSQRT, List.of(base));
      }
      long most = dtype.isFloat() ? MAX_FLOAT_POWER : MAX_INTEGER_POWER;
      if (value == Math.rint(value) && Math.abs(value) <= most && (value >= 0 || dtype.isFloat())) {
        var factor = cast(position, dtype, base, common.weak());
        var power = product(position, factor, (long) Math.abs(value));
        return value < 0
            ? call(position, Function.DIVIDE, List.of(Literal.whole(1), power))
            : power;
      }
    }
    if (folds && common.weak()) {
      return apply(position, Function.POWER, List.of(base, exponent), DType.F32, DType.F32, true);
    }
    if (!dtype.isFloat()) {
      throw error(
          position,
          "** of integers needs a literal exponent from 0 to %d; cast the base to f32, for example f32(x) ** y"
              .formatted(MAX_INTEGER_POWER));
    }
    requireSingle(position, Function.POWER, dtype);
    if (base instanceof Literal literal && literal.value().toReal() == 2) {
      return apply(position, Function.EXP2, List.of(exponent), dtype, dtype, false);
    }
    return apply(position, Function.POWER, List.of(base, exponent), dtype, dtype, false);
  }

  /** Returns a power by repeated squaring. */
  private Term product(int position, Term base, long exponent) {
    if (exponent == 0) {
      return new Literal(
          base.dtype(), false, literal(position, Literal.whole(1), base.dtype()), "");
    }
    var half = exponent == 1 ? base : product(position, base, exponent / 2);
    if (exponent == 1) {
      return base;
    }
    var square = call(position, Function.MULTIPLY, List.of(half, half));
    return exponent % 2 == 0 ? square : call(position, Function.MULTIPLY, List.of(square, base));
  }

  /** Converts a term as the op {@code cast} does. */
  Term cast(int position, DType dtype, Term term) {
    if (term instanceof Literal literal) {
      return new Literal(dtype, false, Evaluator.cast(dtype, literal.value()), "");
    }
    int number = ((Result) term).number();
    return emit(new Instruction(Function.CAST, dtype, term.dtype(), List.of(number), 0));
  }

  private Term cast(int position, DType dtype, Term term, boolean weak) {
    if (weak || (term.dtype() == dtype && !term.weak())) {
      return term;
    }
    if (term instanceof Literal literal) {
      return new Literal(dtype, false, literal(position, literal, dtype), "");
    }
    return new Result(dtype, false, materialize(position, term, dtype), List.of());
  }

  /** Returns the number of an instruction that gives a term in a dtype. */
  private int materialize(int position, Term term, DType dtype) {
    if (term instanceof Literal literal) {
      var value = literal(position, literal, dtype).as(dtype);
      int index = literals.computeIfAbsent(value, _ -> literals.size());
      return emit(Instruction.literal(index, dtype)).number();
    }
    var result = (Result) term;
    if (result.dtype() == dtype) {
      return result.number();
    }
    if (result.weak() && dtype != DType.BOOL) {
      return ((Result) where(position, result.operands(), dtype, false)).number();
    }
    // numbers become f16 and bf16 only at the end
    var to = dtype == DType.F16 || dtype == DType.BF16 ? DType.F32 : dtype;
    return emit(new Instruction(Function.CAST, to, result.dtype(), List.of(result.number()), 0))
        .number();
  }

  /** Returns the value of a literal in a dtype. */
  private static ScalarValue literal(int position, Literal literal, DType dtype) {
    var value = literal.value();
    if (dtype == DType.BOOL) {
      return ScalarValue.of(value.isTrue());
    }
    if (dtype.isFloat()) {
      return ScalarValue.of(value.toReal());
    }
    if (value.whole() < Rounding.least(dtype) || value.whole() > Rounding.greatest(dtype)) {
      var message =
          "%d does not fit %s, the dtype of the other operand; use a number from %d to %d"
              .formatted(
                  value.whole(), dtype.text(), Rounding.least(dtype), Rounding.greatest(dtype));
      throw literal.name().isEmpty()
          ? error(position, message + ", or cast that operand, for example i64(x)")
          : new OpException.InvalidAttribute(
              literal.name(), "attribute \"%s\": %s".formatted(literal.name(), message));
    }
    return value;
  }

  /** The common type of two terms, as a term without a value. */
  private static Term promoted(Term a, Term b) {
    int order = Integer.compare(kind(a.dtype()), kind(b.dtype()));
    if (order == 0 && a.weak() == b.weak()) {
      return type(wider(a.dtype(), b.dtype()), a.weak());
    }
    if (order == 0) {
      return type(a.weak() ? b.dtype() : a.dtype(), false);
    }
    var higher = order > 0 ? a : b;
    var lower = order > 0 ? b : a;
    boolean known = lower.weak() || lower instanceof Literal;
    return type(higher.dtype(), higher.weak() && known);
  }

  private static Term type(DType dtype, boolean weak) {
    return new Result(dtype, weak, 0, List.of());
  }

  private static int kind(DType dtype) {
    return dtype == DType.BOOL ? 0 : dtype.isFloat() ? 2 : 1;
  }

  /** Returns the smallest dtype of the same kind that contains both. */
  static DType wider(DType a, DType b) {
    if (a == b) {
      return a;
    }
    if (a.isFloat()) {
      return a == DType.F64 || b == DType.F64 ? DType.F64 : DType.F32;
    }
    boolean mixed = isUnsigned(a) != isUnsigned(b);
    int unsigned = Math.max(isUnsigned(a) ? a.bytes() : 0, isUnsigned(b) ? b.bytes() : 0);
    int signed = Math.max(isUnsigned(a) ? 0 : a.bytes(), isUnsigned(b) ? 0 : b.bytes());
    int bytes = mixed ? Math.max(signed, 2 * unsigned) : Math.max(signed, unsigned);
    return switch (bytes) {
      case 1 -> signed > 0 ? DType.I8 : DType.U8;
      case 2 -> DType.I16;
      case 4 -> signed > 0 ? DType.I32 : DType.U32;
      default -> DType.I64;
    };
  }

  private static boolean isUnsigned(DType dtype) {
    return dtype == DType.U8 || dtype == DType.U32;
  }

  /**
   * Returns the compiled expression.
   *
   * @throws OpException.InvalidAttribute if an input is not used
   */
  Expression finish(String text, Term result, Optional<DType> output) {
    int unused = IntStream.range(0, used.length).filter(i -> !used[i]).findFirst().orElse(-1);
    if (unused >= 0) {
      throw new OpException.InvalidAttribute(
          MapOp.EXPRESSION,
          "%s does not use input x%d, which is given; use it or omit it"
              .formatted(MapOp.EXPRESSION, unused));
    }
    int last = materialize(text.length(), result, result.dtype());
    var all = List.copyOf(code.keySet());
    var values = List.copyOf(literals.keySet());
    var numbers = new HashMap<Integer, Integer>();
    var kept = new ArrayList<Instruction>();
    var parameters = new ArrayList<ScalarValue>();
    var needed = needed(all, last);
    for (int i = 0; i <= last; i++) {
      if (!needed.get(i)) {
        continue;
      }
      var each = all.get(i);
      int index = each.index();
      if (each.function() == Function.LITERAL) {
        index = parameters.size();
        parameters.add(values.get(each.index()));
      }
      numbers.put(i, kept.size());
      kept.add(
          new Instruction(
              each.function(),
              each.dtype(),
              each.computed(),
              each.operands().stream().map(number -> numbers.getOrDefault(number, 0)).toList(),
              index));
    }
    var program = new Program(kept, inputs, output.orElse(result.dtype()));
    return new Expression(text, program, parameters);
  }

  /** Returns which instructions contribute to the last one. */
  private static List<Boolean> needed(List<Instruction> all, int last) {
    var needed = new ArrayList<>(Collections.nCopies(last + 1, false));
    needed.set(last, true);
    for (int i = last; i >= 0; i--) {
      if (needed.get(i)) {
        all.get(i).operands().forEach(operand -> needed.set(operand, true));
      }
    }
    return needed;
  }
}
