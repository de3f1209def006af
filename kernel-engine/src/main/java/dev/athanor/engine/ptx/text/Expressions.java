package dev.athanor.engine.ptx.text;

import dev.athanor.engine.ptx.Literals;
import dev.athanor.engine.ptx.Operand.Immediate;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.Warps;
import dev.athanor.engine.ptx.text.Lexer.Kind;
import dev.athanor.engine.ptx.text.Lexer.Token;
import java.util.List;

/** Reads constant expressions (PTX ISA 4.6). */
final class Expressions {

  /** The binary operators, from the lowest precedence to the highest. */
  private static final List<List<String>> LEVELS =
      List.of(
          List.of("||"),
          List.of("&&"),
          List.of("|"),
          List.of("^"),
          List.of("&"),
          List.of("==", "!="),
          List.of("<=", ">=", "<", ">"),
          List.of("<<", ">>"),
          List.of("+", "-"),
          List.of("*", "/", "%"));

  /** The predefined constant for the number of lanes of a warp (PTX ISA 4.6.1). */
  private static final String WARP_SIZE = "WARP_SZ";

  private final Tokens tokens;

  Expressions(Tokens tokens) {
    this.tokens = tokens;
  }

  /** Returns whether an expression begins here; {@code !} may also negate a predicate. */
  boolean begin() {
    int at = tokens.position();
    return begins(tokens.at(tokens.at(at).is("!") ? at + 1 : at));
  }

  private static boolean begins(Token token) {
    return token.kind() == Kind.NUMBER
        || (token.kind() == Kind.WORD && token.text().equals(WARP_SIZE))
        || (token.kind() == Kind.PUNCTUATION && "-+~(".contains(token.text()));
  }

  /** Reads an integer that fits 32 bits, such as the length of an array; ">" may follow. */
  int integer() {
    var at = tokens.peek();
    if (!begin()) {
      throw Tokens.expected(at, "an integer");
    }
    var value = binary(8);
    if (value.type().kind() == Type.Kind.FLOAT || value.bits() != (int) value.bits()) {
      throw Tokens.error(at, "expected an integer of 32 bits, got " + value);
    }
    return (int) value.bits();
  }

  /** Reads an integer that fits 32 bits and is not negative. */
  int count() {
    var at = tokens.peek();
    int count = integer();
    if (count < 0) {
      throw Tokens.error(at, "expected an integer that is not negative, got " + count);
    }
    return count;
  }

  /** Reads a whole expression. */
  Immediate value() {
    var condition = binary(0);
    var operator = tokens.peek();
    if (!tokens.takeIf("?")) {
      return condition;
    }
    tokens.enter();
    var yes = value();
    tokens.expect(":");
    var no = value();
    tokens.leave();
    return bits(operator, condition) != 0 ? yes : no;
  }

  private Immediate binary(int level) {
    if (level == LEVELS.size()) {
      return unary();
    }
    var left = binary(level + 1);
    while (true) {
      var operator = tokens.peek();
      if (operator.kind() == Kind.STRING || !LEVELS.get(level).contains(operator.text())) {
        return left;
      }
      tokens.take();
      var right = binary(level + 1);
      left = apply(operator, left, right);
    }
  }

  private Immediate unary() {
    tokens.enter();
    var token = tokens.take();
    var value =
        switch (token.text()) {
          case "-" -> Literals.negate(unary());
          case "+" -> unary();
          case "~" -> {
            var inner = unary();
            yield new Immediate(inner.type(), ~bits(token, inner));
          }
          case "!" -> integer(bits(token, unary()) == 0 ? 1 : 0);
          case "(" -> {
            var cast = tokens.peek().text();
            boolean casts = cast.equals(".s64") || cast.equals(".u64");
            if (casts) {
              tokens.take();
              tokens.expect(")");
              yield new Immediate(cast.equals(".u64") ? Type.U64 : Type.S64, bits(token, unary()));
            }
            var inner = value();
            tokens.expect(")");
            yield inner;
          }
          case WARP_SIZE -> integer(Warps.SIZE);
          default -> literal(token);
        };
    tokens.leave();
    return value;
  }

  private static Immediate literal(Token token) {
    if (token.kind() != Kind.NUMBER) {
      throw Tokens.expected(token, "a number");
    }
    try {
      return Literals.parse(token.text());
    } catch (NumberFormatException e) {
      throw Tokens.error(
          token,
          token.text().matches("0[0-7]*[89].*")
              ? token + " is not an octal number; a leading 0 denotes octal"
              : token + " is too large for a literal of 64 bits");
    }
  }

  private static Immediate apply(Token operator, Immediate left, Immediate right) {
    if (left.type() == Type.F64 && right.type() == Type.F64 && "+-*/".contains(operator.text())) {
      return applyToFloats(operator, left, right);
    }
    long a = bits(operator, left);
    long b = bits(operator, right);
    boolean unsigned = left.type() == Type.U64 || right.type() == Type.U64;
    if ((operator.is("/") || operator.text().equals("%")) && b == 0) {
      throw Tokens.error(operator, "a constant is divided by zero");
    }
    // ptxas takes shift amounts modulo 64
    int order = unsigned ? Long.compareUnsigned(a, b) : Long.compare(a, b);
    long value =
        switch (operator.text()) {
          case "*" -> a * b;
          case "/" -> unsigned ? Long.divideUnsigned(a, b) : a / b;
          case "%" -> unsigned ? Long.remainderUnsigned(a, b) : a % b;
          case "+" -> a + b;
          case "-" -> a - b;
          case "<<" -> a << b;
          case ">>" -> left.type() == Type.U64 ? a >>> b : a >> b;
          case "&" -> a & b;
          case "^" -> a ^ b;
          case "|" -> a | b;
          case "<" -> order < 0 ? 1 : 0;
          case ">" -> order > 0 ? 1 : 0;
          case "<=" -> order <= 0 ? 1 : 0;
          case ">=" -> order >= 0 ? 1 : 0;
          case "==" -> a == b ? 1 : 0;
          case "!=" -> a != b ? 1 : 0;
          case "&&" -> a != 0 && b != 0 ? 1 : 0;
          case "||" -> a != 0 || b != 0 ? 1 : 0;
          default -> throw Tokens.expected(operator, "an operator");
        };
    boolean staysUnsigned =
        switch (operator.text()) {
          case "*", "/", "%", "+", "-", "&", "^", "|" -> unsigned;
          case "<<", ">>" -> left.type() == Type.U64;
          default -> false;
        };
    return new Immediate(staysUnsigned ? Type.U64 : Type.S64, value);
  }

  private static Immediate applyToFloats(Token operator, Immediate left, Immediate right) {
    double a = Double.longBitsToDouble(left.bits());
    double b = Double.longBitsToDouble(right.bits());
    return Immediate.of(
        switch (operator.text()) {
          case "+" -> a + b;
          case "-" -> a - b;
          case "*" -> a * b;
          default -> a / b;
        });
  }

  private static long bits(Token operator, Immediate value) {
    if (value.type().kind() == Type.Kind.FLOAT) {
      throw Tokens.error(operator, "this operator takes integers, got " + value);
    }
    return value.bits();
  }

  private static Immediate integer(long bits) {
    return new Immediate(Type.S64, bits);
  }
}
