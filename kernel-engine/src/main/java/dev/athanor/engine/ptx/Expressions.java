package dev.athanor.engine.ptx;

import dev.athanor.engine.ptx.Lexer.Kind;
import dev.athanor.engine.ptx.Lexer.Token;
import dev.athanor.engine.ptx.Operand.Immediate;
import java.util.List;

/** Reads constant expressions (PTX ISA 4.6). */
final class Expressions {

  /** The binary operators, those that bind weakest first. */
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

  private final Tokens tokens;

  Expressions(Tokens tokens) {
    this.tokens = tokens;
  }

  /** Whether a token can begin one. */
  static boolean begins(Token token) {
    return token.kind() == Kind.NUMBER || token.is("-") || token.is("~") || token.is("(");
  }

  /** An integer that fits 32 bits, such as the length of an array; ">" may follow. */
  int integer() {
    var at = tokens.peek();
    if (!begins(at)) {
      throw Tokens.expected(at, "an integer");
    }
    var value = binary(8);
    if (value.type().kind() == Type.Kind.FLOAT || value.bits() != (int) value.bits()) {
      throw Tokens.error(at, "expected an integer of 32 bits, got " + value);
    }
    return (int) value.bits();
  }

  /** An integer that fits 32 bits and is not negative. */
  int count() {
    var at = tokens.peek();
    int count = integer();
    if (count < 0) {
      throw Tokens.error(at, "expected an integer that is not negative, got " + count);
    }
    return count;
  }

  /** A whole expression; in operands {@code a|b} is a pair, so that "|" needs parentheses there. */
  Immediate value() {
    return binary(3);
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
          case "~" -> integer(~bits(token, unary()));
          case "!" -> integer(bits(token, unary()) == 0 ? 1 : 0);
          case "(" -> {
            var inner = binary(0);
            tokens.expect(")");
            yield inner;
          }
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
      throw Tokens.error(token, token + " is too large for a literal of 64 bits");
    }
  }

  private static Immediate apply(Token operator, Immediate left, Immediate right) {
    long a = bits(operator, left);
    long b = bits(operator, right);
    boolean unsigned = left.type() == Type.U64 || right.type() == Type.U64;
    if ((operator.is("/") || operator.text().equals("%")) && b == 0) {
      throw Tokens.error(operator, "a constant is divided by zero");
    }
    int order = unsigned ? Long.compareUnsigned(a, b) : Long.compare(a, b);
    return integer(
        switch (operator.text()) {
          case "*" -> a * b;
          case "/" -> unsigned ? Long.divideUnsigned(a, b) : a / b;
          case "%" -> unsigned ? Long.remainderUnsigned(a, b) : a % b;
          case "+" -> a + b;
          case "-" -> a - b;
          case "<<" -> b < 0 || b > 63 ? 0 : a << b;
          case ">>" -> {
            long amount = b < 0 || b > 63 ? 63 : b;
            yield left.type() == Type.U64 ? amount == b ? a >>> b : 0 : a >> amount;
          }
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
        });
  }

  private static long bits(Token operator, Immediate value) {
    if (value.type().kind() == Type.Kind.FLOAT) {
      throw Tokens.error(operator, "only integers can be combined, got " + value);
    }
    return value.bits();
  }

  private static Immediate integer(long bits) {
    return new Immediate(Type.S64, bits);
  }
}
