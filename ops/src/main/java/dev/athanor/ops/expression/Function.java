package dev.athanor.ops.expression;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * A function or an operator of an expression.
 *
 * @see Typing
 */
enum Function {
  /** An operand of the kernel. */
  INPUT("input", 0, Rule.NONE, 0),
  /** A number, which is a kernel parameter. */
  LITERAL("literal", 0, Rule.NONE, 0),
  /** A conversion, written as the name of a dtype. */
  CAST("cast", 1, Rule.NONE, 4),

  OR("||", 2, Rule.LOGIC, 1),
  AND("&&", 2, Rule.LOGIC, 1),
  NOT("!", 1, Rule.LOGIC, 1),
  EQ("==", 2, Rule.COMPARISON, 1),
  NE("!=", 2, Rule.COMPARISON, 2),
  LT("<", 2, Rule.COMPARISON, 2),
  LE("<=", 2, Rule.COMPARISON, 2),
  GT(">", 2, Rule.COMPARISON, 2),
  GE(">=", 2, Rule.COMPARISON, 2),
  BIT_OR("|", 2, Rule.BITS, 1),
  BIT_XOR("^", 2, Rule.BITS, 2),
  BIT_AND("&", 2, Rule.BITS, 1),
  BIT_NOT("~", 1, Rule.BITS, 2),
  SHIFT_LEFT("<<", 2, Rule.SHIFT, 3),
  SHIFT_RIGHT(">>", 2, Rule.SHIFT, 3),
  ADD("+", 2, Rule.ARITHMETIC, 1),
  SUBTRACT("-", 2, Rule.ARITHMETIC, 1),
  MULTIPLY("*", 2, Rule.ARITHMETIC, 2),
  DIVIDE("/", 2, Rule.QUOTIENT, 12),
  FLOOR_DIVIDE("//", 2, Rule.ARITHMETIC, 40),
  MODULO("%", 2, Rule.ARITHMETIC, 40),
  NEGATE("-", 1, Rule.ARITHMETIC, 1),
  POWER("**", 2, Rule.REAL, 80),

  // functions with a name, from here on
  WHERE("where", 3, Rule.NONE, 1),
  ABS("abs", 1, Rule.ARITHMETIC, 1),
  SIGN("sign", 1, Rule.ARITHMETIC, 4),
  MIN("min", 2, Rule.ARITHMETIC, 2),
  MAX("max", 2, Rule.ARITHMETIC, 2),
  CLAMP("clamp", 3, Rule.ARITHMETIC, 4),
  RELU("relu", 1, Rule.ARITHMETIC, 2),
  FMA("fma", 3, Rule.ARITHMETIC, 2),
  FLOOR("floor", 1, Rule.ROUNDING, 1),
  CEIL("ceil", 1, Rule.ROUNDING, 1),
  ROUND("round", 1, Rule.ROUNDING, 1),
  TRUNC("trunc", 1, Rule.ROUNDING, 1),
  ISNAN("isnan", 1, Rule.TEST, 1),
  ISINF("isinf", 1, Rule.TEST, 2),
  ISFINITE("isfinite", 1, Rule.TEST, 2),
  SQRT("sqrt", 1, Rule.QUOTIENT, 12),
  RSQRT("rsqrt", 1, Rule.QUOTIENT, 8),
  EXP("exp", 1, Rule.REAL, 12),
  EXP2("exp2", 1, Rule.REAL, 4),
  EXPM1("expm1", 1, Rule.REAL, 24),
  LOG("log", 1, Rule.REAL, 30),
  LOG2("log2", 1, Rule.REAL, 30),
  LOG1P("log1p", 1, Rule.REAL, 40),
  SIN("sin", 1, Rule.REAL, 90),
  COS("cos", 1, Rule.REAL, 90),
  TAN("tan", 1, Rule.REAL, 100),
  ASIN("asin", 1, Rule.REAL, 30),
  ACOS("acos", 1, Rule.REAL, 30),
  ATAN("atan", 1, Rule.REAL, 25),
  TANH("tanh", 1, Rule.REAL, 20),
  SIGMOID("sigmoid", 1, Rule.REAL, 10),
  ERF("erf", 1, Rule.REAL, 50),
  GELU("gelu", 1, Rule.REAL, 25),
  SILU("silu", 1, Rule.REAL, 12),
  SOFTPLUS("softplus", 1, Rule.REAL, 55);

  /** A rule for the types of the operands and of the result. */
  enum Rule {
    /** A rule of its own. */
    NONE,
    /** The operands become bool, as does the result. */
    LOGIC,
    /** The operands are promoted to a common dtype; the result is bool. */
    COMPARISON,
    /** The operands are promoted to a common integer dtype, or all are bool. */
    BITS,
    /** The operands are promoted to a common integer dtype; bool counts as i32. */
    SHIFT,
    /** The operands are promoted to a common dtype; bool counts as i32. */
    ARITHMETIC,
    /** As ARITHMETIC; integers are returned unchanged. */
    ROUNDING,
    /** The operands are promoted to a common float dtype. */
    QUOTIENT,
    /** As QUOTIENT, but f64 is not supported. */
    REAL,
    /** The operand becomes a float; the result is bool. */
    TEST
  }

  private final String text;
  private final int operands;
  private final Rule rule;
  private final int instructions;

  Function(String text, int operands, Rule rule, int instructions) {
    this.text = text;
    this.operands = operands;
    this.rule = rule;
    this.instructions = instructions;
  }

  /** Returns the operator or the name of the function. */
  String text() {
    return text;
  }

  int operands() {
    return operands;
  }

  Rule rule() {
    return rule;
  }

  /** Returns the approximate number of instructions of a GPU. */
  int instructions() {
    return instructions;
  }

  private boolean isNamed() {
    return compareTo(WHERE) >= 0;
  }

  /** Returns the function with this name; operators have none. */
  static Optional<Function> named(String name) {
    return Arrays.stream(values()).filter(f -> f.isNamed() && f.text.equals(name)).findFirst();
  }

  /** Returns the names of all functions. */
  static List<String> names() {
    return Arrays.stream(values()).filter(Function::isNamed).map(Function::text).toList();
  }
}
