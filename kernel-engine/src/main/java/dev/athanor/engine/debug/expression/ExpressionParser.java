package dev.athanor.engine.debug.expression;

import dev.athanor.engine.debug.expression.Expression.Binary;
import dev.athanor.engine.debug.expression.Expression.Call;
import dev.athanor.engine.debug.expression.Expression.Cast;
import dev.athanor.engine.debug.expression.Expression.Conditional;
import dev.athanor.engine.debug.expression.Expression.Element;
import dev.athanor.engine.debug.expression.Expression.Literal;
import dev.athanor.engine.debug.expression.Expression.Name;
import dev.athanor.engine.debug.expression.Expression.Unary;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A parser by operator precedence (JLS 15). Names may be registers, which begin with {@code %}. */
final class ExpressionParser {

  /** Bounds the recursion. */
  private static final int MAX_LENGTH = 1_000;

  /** The binary operators by precedence, the weakest first. */
  private static final List<List<String>> LEVELS =
      List.of(
          List.of("||"),
          List.of("&&"),
          List.of("|"),
          List.of("^"),
          List.of("&"),
          List.of("==", "!="),
          List.of("<", "<=", ">", ">="),
          List.of("<<", ">>", ">>>"),
          List.of("+", "-"),
          List.of("*", "/", "%"));

  private static final Pattern SPACE = Pattern.compile("\\s*");
  private static final Pattern OPERATOR =
      Pattern.compile(">>>|<<|>>|<=|>=|==|!=|&&|\\|\\||\\+\\+|--|[-+*/%&|^<>]");
  private static final Pattern NAME =
      Pattern.compile(
          "(?:%[\\w$]+|\\p{javaJavaIdentifierStart}\\p{javaJavaIdentifierPart}*)(\\.\\p{javaJavaIdentifierStart}\\p{javaJavaIdentifierPart}*)*");
  private static final Pattern PRIMITIVE_CAST =
      Pattern.compile("\\(\\s*(boolean|byte|short|char|int|long|float|double)\\s*\\)");
  private static final Pattern FRACTION =
      Pattern.compile(
          "(?:(?:\\d[\\d_]*\\.[\\d_]*|\\.\\d[\\d_]*)(?:[eE][+-]?\\d+)?|\\d[\\d_]*[eE][+-]?\\d+|\\d[\\d_]*(?=[fFdD]))([fFdD]?)");
  private static final Pattern WHOLE =
      Pattern.compile("(?:0[xX]([\\da-fA-F_]+)|0[bB]([01_]+)|0([0-7_]+)|(0|[1-9][\\d_]*))([lL]?)");
  private static final Pattern LETTER =
      Pattern.compile("'(?:([^'\\\\])|\\\\u([\\da-fA-F]{4})|\\\\([btnfrs0\"'\\\\]))'");
  private static final String ESCAPES = "btnfrs0\"'\\";
  private static final String ESCAPED = "\b\t\n\f\r \0\"'\\";

  private final String text;
  private int at;

  ExpressionParser(String text) {
    this.text = text;
  }

  Expression parse() {
    if (text.length() > MAX_LENGTH) {
      throw new IllegalArgumentException(
          "the expression has %d characters; the limit is %d".formatted(text.length(), MAX_LENGTH));
    }
    var expression = conditional();
    if (at < text.length()) {
      throw expected("an operator or the end");
    }
    return expression;
  }

  private Expression conditional() {
    var condition = binary(0);
    int column = at + 1;
    if (!skip("?")) {
      return condition;
    }
    var yes = conditional();
    require(":");
    return new Conditional(condition, yes, conditional(), column);
  }

  /** Parses operators of a level and those that bind stronger. */
  private Expression binary(int weakest) {
    var left = unary();
    while (true) {
      skipSpace();
      var match = match(OPERATOR);
      var operator = match.lookingAt() ? match.group() : "";
      int level = level(operator);
      if (level < weakest) {
        return left;
      }
      int column = at + 1;
      at = match.end();
      left = new Binary(operator, left, binary(level + 1), column);
    }
  }

  /** Returns the precedence of a binary operator; -1 = it is none. */
  private static int level(String operator) {
    for (int level = 0; level < LEVELS.size(); level++) {
      if (LEVELS.get(level).contains(operator)) {
        return level;
      }
    }
    return -1;
  }

  private Expression unary() {
    skipSpace();
    int column = at + 1;
    var cast = match(PRIMITIVE_CAST);
    if (cast.lookingAt()) {
      at = cast.end();
      return new Cast(JavaType.of(cast.group(1)).orElseThrow(), unary(), column);
    }
    if (text.startsWith("--", at) || text.startsWith("++", at)) {
      throw expected("an operand");
    }
    for (var operator : List.of("+", "-", "~", "!")) {
      if (skip(operator)) {
        return operator.equals("-") && isDigit()
            ? literal(true)
            : new Unary(operator, unary(), column);
      }
    }
    return primary();
  }

  private boolean isDigit() {
    skipSpace();
    return at < text.length()
        && (Character.isDigit(text.charAt(at))
            || (text.charAt(at) == '.' && match(FRACTION).lookingAt()));
  }

  private Expression primary() {
    if (skip("(")) {
      var inner = conditional();
      require(")");
      return inner;
    }
    if (isDigit()) {
      return literal(false);
    }
    if (text.startsWith("'", at)) {
      return letter();
    }
    int column = at + 1;
    var match = match(NAME);
    if (!match.lookingAt()) {
      throw expected("an operand");
    }
    at = match.end();
    var name = match.group();
    if (name.equals("true") || name.equals("false")) {
      return new Literal(name.equals("true"));
    }
    if (skip("(")) {
      return call(name, column);
    }
    if (!skip("[")) {
      return new Name(name);
    }
    var index = conditional();
    require("]");
    return new Element(new Name(name), index);
  }

  private Call call(String name, int column) {
    if (!MathFunctions.NAMES.contains(name)) {
      throw new IllegalArgumentException(
          "column %d: %s cannot be called; the functions are %s"
              .formatted(column, name, String.join(", ", MathFunctions.NAMES)));
    }
    var arguments = new ArrayList<Expression>();
    if (!skip(")")) {
      do {
        arguments.add(conditional());
      } while (skip(","));
      require(")");
    }
    return new Call(name, arguments, column);
  }

  private Literal letter() {
    var match = match(LETTER);
    if (!match.lookingAt()) {
      throw expected("a character such as 'a'");
    }
    at = match.end();
    if (match.group(1) != null) {
      return new Literal(match.group(1).charAt(0));
    }
    return new Literal(
        match.group(2) != null
            ? (char) Integer.parseInt(match.group(2), 16)
            : ESCAPED.charAt(ESCAPES.indexOf(match.group(3))));
  }

  private Literal literal(boolean negative) {
    var sign = negative ? "-" : "";
    int column = at + 1;
    var match = match(FRACTION);
    Object value;
    if (match.lookingAt()) {
      var digits = sign + match.group().replace("_", "");
      if (match.group(1).equalsIgnoreCase("f")) {
        value = Float.valueOf(digits);
      } else {
        value = Double.valueOf(digits);
      }
    } else {
      match = match(WHOLE);
      if (!match.lookingAt()) {
        throw expected("a number");
      }
      value = whole(match, negative, column);
    }
    at = match.end();
    if (at < text.length() && Character.isJavaIdentifierPart(text.charAt(at))) {
      throw expected("the end of the number");
    }
    return new Literal(value);
  }

  /** Returns the value of an integer literal; those of other radixes are bits (JLS 3.10.1). */
  private static Object whole(Matcher match, boolean negative, int column) {
    boolean isLong = !match.group(5).isEmpty();
    int bits = isLong ? Long.SIZE : Integer.SIZE;
    boolean isDecimal = match.group(4) != null;
    int group = 1;
    while (match.group(group) == null) {
      group++;
    }
    int radix = new int[] {16, 2, 8, 10}[group - 1];
    var digits = match.group(group).replace("_", "");
    var value = new BigInteger(digits.isEmpty() ? "0" : digits, radix);
    var signed = negative && isDecimal ? value.negate() : value;
    if (isDecimal ? signed.bitLength() >= bits : signed.bitLength() > bits) {
      throw new IllegalArgumentException(
          "column %d: %s is too large for %s"
              .formatted(column, match.group(), isLong ? "a long" : "an int; append L"));
    }
    long result = negative && !isDecimal ? -signed.longValue() : signed.longValue();
    if (isLong) {
      return result;
    }
    return (int) result;
  }

  private void skipSpace() {
    var match = match(SPACE);
    if (match.lookingAt()) {
      at = match.end();
    }
  }

  private boolean skip(String word) {
    skipSpace();
    if (!text.startsWith(word, at)) {
      return false;
    }
    at += word.length();
    skipSpace();
    return true;
  }

  private void require(String word) {
    if (!skip(word)) {
      throw expected('"' + word + '"');
    }
  }

  private Matcher match(Pattern pattern) {
    return pattern.matcher(text).region(at, text.length());
  }

  private IllegalArgumentException expected(String what) {
    var rest = text.substring(at).strip();
    return new IllegalArgumentException(
        "column %d: expected %s, found %s"
            .formatted(at + 1, what, rest.isEmpty() ? "the end" : '"' + rest + '"'));
  }
}
