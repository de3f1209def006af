package dev.athanor.ops.expression;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Activation;
import dev.athanor.ops.DType;
import dev.athanor.ops.map.Elements;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Emits a program for one element. A bool is a predicate, or 0 or 1 in a register; both are emitted
 * on demand.
 */
final class Emitter {

  private final KernelBuilder k;
  private final Program program;
  private final Elements elements;
  private final RealFunctions functions;
  private final @Nullable Value[] values;
  private final @Nullable Predicate[] tests;

  /** Creates an emitter without results. */
  Emitter(KernelBuilder k, Program program) {
    this.k = k;
    this.program = program;
    elements = new Elements(k);
    functions = new RealFunctions(k);
    values = new Value[program.code().size()];
    tests = new Predicate[program.code().size()];
  }

  /** Creates an emitter that starts with the results of another. */
  Emitter(Emitter shared) {
    this(shared.k, shared.program);
    System.arraycopy(shared.values, 0, values, 0, values.length);
    System.arraycopy(shared.tests, 0, tests, 0, tests.length);
  }

  /** Sets the parameter of a literal. */
  void literal(int number, Value value) {
    set(number, value);
  }

  /** Sets an element as it was loaded. */
  void input(int number, Value element) {
    var widened = elements.widen(program.code().get(number).dtype(), element);
    set(number, widened);
  }

  private void set(int number, Value value) {
    if (program.code().get(number).dtype() == DType.BOOL) {
      tests[number] = value.integer().eq(0).not();
    } else {
      values[number] = value;
    }
  }

  /** Emits an instruction if it has no result yet. */
  void emit(int number) {
    if (values[number] == null && tests[number] == null) {
      var instruction = program.code().get(number);
      if (instruction.dtype() == DType.BOOL) {
        tests[number] = test(instruction);
      } else {
        values[number] = value(instruction);
      }
    }
  }

  /** Returns the result as an element of the output. */
  Value result() {
    return elements.narrow(program.output(), value(program.code().size() - 1));
  }

  private Value value(int number) {
    var value = values[number];
    if (value == null) {
      var test = Objects.requireNonNull(tests[number]);
      value = k.integer(1).where(test, k.integer(0)).value().as(Type.U32);
      values[number] = value;
    }
    return value;
  }

  private Predicate test(int number) {
    var test = tests[number];
    if (test == null) {
      test = isTrue(program.code().get(number).dtype(), value(number));
      tests[number] = test;
    }
    return test;
  }

  private Predicate isTrue(DType dtype, Value value) {
    if (value instanceof Real real) {
      return real.eq(0).not();
    }
    var integers = new Integers(k, dtype);
    return integers.equal(value, integers.constant(0)).not();
  }

  private Predicate test(Instruction each) {
    var operands = each.operands();
    if (each.function() == Function.WHERE) {
      var condition = test(operands.getFirst());
      return condition.and(test(operands.get(1))).or(condition.not().and(test(operands.get(2))));
    }
    if (each.function() == Function.CAST) {
      return test(operands.getFirst());
    }
    return each.computed() == DType.BOOL
        ? logic(each.function(), test(operands.getFirst()), test(operands.getLast()))
        : compare(each, value(operands.getFirst()), value(operands.getLast()));
  }

  private static Predicate logic(Function function, Predicate a, Predicate b) {
    return switch (function) {
      case OR, BIT_OR -> a.or(b);
      case AND, BIT_AND -> a.and(b);
      case NOT, BIT_NOT -> a.not();
      case BIT_XOR -> a.and(b.not()).or(a.not().and(b));
      default -> throw new IllegalStateException(function.toString());
    };
  }

  private Predicate compare(Instruction each, Value a, Value b) {
    if (a instanceof Real x) {
      var y = (Real) b;
      var infinity = x.constant(Double.POSITIVE_INFINITY);
      return switch (each.function()) {
        case EQ -> x.eq(y);
        case NE -> x.eq(y).not();
        case LT -> x.lt(y);
        case LE -> x.le(y);
        case GT -> x.gt(y);
        case GE -> x.ge(y);
        case ISNAN -> x.isNan();
        case ISINF -> x.abs().eq(infinity);
        case ISFINITE -> x.abs().lt(infinity);
        default -> throw new IllegalStateException(each.toString());
      };
    }
    var integers = new Integers(k, each.computed());
    return switch (each.function()) {
      case EQ -> integers.equal(a, b);
      case NE -> integers.equal(a, b).not();
      case LT -> integers.less(a, b);
      case LE -> integers.less(b, a).not();
      case GT -> integers.less(b, a);
      case GE -> integers.less(a, b).not();
      default -> throw new IllegalStateException(each.toString());
    };
  }

  private Value value(Instruction each) {
    var operands = each.operands();
    if (each.function() == Function.WHERE) {
      var condition = test(operands.getFirst());
      var a = value(operands.get(1));
      var b = value(operands.get(2));
      return a instanceof Real real
          ? real.where(condition, (Real) b)
          : new Integers(k, each.dtype()).select(condition, a, b);
    }
    if (each.function() == Function.CAST) {
      return elements.widen(
          each.dtype(), elements.narrow(each.dtype(), value(operands.getFirst())));
    }
    var a = value(operands.getFirst());
    var b = value(operands.get(operands.size() > 1 ? 1 : 0));
    var c = value(operands.getLast());
    return each.dtype().isFloat()
        ? real(each.function(), List.of((Real) a, (Real) b, (Real) c))
        : new Integers(k, each.dtype()).apply(each.function(), a, b, c);
  }

  private Real real(Function function, List<Real> operands) {
    var a = operands.getFirst();
    var b = operands.get(1);
    var c = operands.getLast();
    return switch (function) {
      case ADD -> a.plus(b);
      case SUBTRACT -> a.minus(b);
      case MULTIPLY -> a.times(b);
      case DIVIDE -> a.over(b);
      case FLOOR_DIVIDE -> functions.quotient(a, b);
      case MODULO -> functions.remainder(a, b);
      case POWER -> functions.power(a, b);
      case FMA -> a.fma(b, c);
      case MIN -> functions.min(a, b);
      case MAX -> functions.max(a, b);
      case CLAMP -> functions.min(functions.max(a, b), c);
      default -> real(function, a);
    };
  }

  private Real real(Function function, Real x) {
    return switch (function) {
      case NEGATE -> x.negate();
      case ABS -> x.abs();
      case SIGN -> functions.sign(x);
      case RELU -> Activation.RELU.apply(x);
      case FLOOR -> functions.round(x, 'm');
      case CEIL -> functions.round(x, 'p');
      case ROUND -> functions.round(x, 'n');
      case TRUNC -> functions.round(x, 'z');
      case SQRT -> x.sqrt();
      case RSQRT -> x.type() == Type.F32 ? x.rsqrt() : x.sqrt().reciprocal();
      case EXP -> functions.exp(x);
      case EXP2 -> x.exp2();
      case EXPM1 -> functions.expm1(x);
      case LOG -> functions.log(x);
      case LOG2 -> functions.log2(x);
      case LOG1P -> functions.log1p(x);
      case SIN -> new Angles(k).sin(x);
      case COS -> new Angles(k).cos(x);
      case TAN -> new Angles(k).tan(x);
      case ASIN -> functions.asin(x);
      case ACOS -> functions.acos(x);
      case ATAN -> functions.atan(x);
      case TANH -> Activation.TANH.apply(x);
      case SIGMOID -> Activation.SIGMOID.apply(x);
      case ERF -> functions.erf(x);
      case GELU -> Activation.GELU.apply(x);
      case SILU -> Activation.SILU.apply(x);
      case SOFTPLUS -> functions.softplus(x);
      default -> throw new IllegalStateException(function.toString());
    };
  }
}
