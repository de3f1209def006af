package dev.athanor.ops.expression;

import dev.athanor.ops.DType;
import dev.athanor.ops.OpException;
import dev.athanor.ops.expression.Term.Literal;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** A recursive-descent parser of expressions. */
final class ExpressionParser {

  private static final int MAX_LENGTH = 4096;
  private static final int MAX_NODES = 256;
  private static final int MAX_DEPTH = 64;
  private static final int MAX_QUOTED = 20;
  private static final String MAX_INTEGER = Long.toString(Long.MAX_VALUE);

  /** The binary operators in the order of increasing precedence. */
  private static final List<Map<String, Function>> LEVELS =
      List.of(
          Map.of("||", Function.OR),
          Map.of("&&", Function.AND),
          Map.of(
              "==", Function.EQ,
              "!=", Function.NE,
              "<", Function.LT,
              "<=", Function.LE,
              ">", Function.GT,
              ">=", Function.GE),
          Map.of("|", Function.BIT_OR, "^", Function.BIT_XOR, "&", Function.BIT_AND),
          Map.of("<<", Function.SHIFT_LEFT, ">>", Function.SHIFT_RIGHT),
          Map.of("+", Function.ADD, "-", Function.SUBTRACT),
          Map.of(
              "*", Function.MULTIPLY,
              "/", Function.DIVIDE,
              "//", Function.FLOOR_DIVIDE,
              "%", Function.MODULO));

  private static final int COMPARISONS = 2;

  private static final Map<String, Function> PREFIXES =
      Map.of("-", Function.NEGATE, "!", Function.NOT, "~", Function.BIT_NOT);

  private static final Map<String, Literal> NAMED =
      Map.of(
          "true", new Literal(DType.BOOL, false, ScalarValue.of(true), ""),
          "false", new Literal(DType.BOOL, false, ScalarValue.of(false), ""),
          "inf", Literal.real(Double.POSITIVE_INFINITY),
          "nan", Literal.real(Double.NaN),
          "pi", Literal.real(Math.PI));

  private static final Pattern TOKEN =
      Pattern.compile(
          "[ \\t\\r\\n]*(?:(?<number>(?:[0-9]+(?:\\.[0-9]*)?|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
              + "|(?<name>[A-Za-z_][A-Za-z_0-9]*)"
              + "|(?<symbol>\\*\\*|//|<<|>>|<=|>=|==|!=|&&|\\|\\||.)|$)",
          Pattern.DOTALL);

  private static final Pattern INDEXED = Pattern.compile("([xc])([0-9]{1,4})");

  private enum Kind {
    NUMBER,
    NAME,
    SYMBOL,
    END
  }

  private record Token(Kind kind, String text, int position, int end) {
    boolean is(String symbol) {
      return kind == Kind.SYMBOL && text.equals(symbol);
    }

    String quoted() {
      return kind == Kind.END
          ? "the end"
          : text.length() > MAX_QUOTED
              ? "\"" + text.substring(0, MAX_QUOTED) + "…\""
              : "\"" + text + "\"";
    }
  }

  private final String text;
  private final Typing typing;
  private Token token;
  private int nodes;
  private int depth;

  ExpressionParser(String text, Typing typing) {
    if (text.length() > MAX_LENGTH) {
      throw new OpException.InvalidAttribute(
          MapOp.EXPRESSION,
          "%s has %d characters; the maximum is %d"
              .formatted(MapOp.EXPRESSION, text.length(), MAX_LENGTH));
    }
    this.text = text;
    this.typing = typing;
    token = read(0);
  }

  Expression parse(Optional<DType> output) {
    var result = binary(0);
    if (token.kind != Kind.END) {
      throw expected("an operator or the end");
    }
    return typing.finish(text.strip().replaceAll("\\s+", " "), result, output);
  }

  private Token read(int from) {
    var matcher = TOKEN.matcher(text).region(from, text.length());
    if (!matcher.lookingAt()) {
      return new Token(Kind.END, "", text.length(), text.length());
    }
    for (var kind : List.of(Kind.NUMBER, Kind.NAME, Kind.SYMBOL)) {
      var group = kind.name().toLowerCase(Locale.ROOT);
      var found = matcher.group(group);
      if (found != null) {
        return new Token(kind, found, matcher.start(group), matcher.end(group));
      }
    }
    return new Token(Kind.END, "", text.length(), text.length());
  }

  private Token next() {
    var current = token;
    token = read(current.end);
    return current;
  }

  private OpException expected(String what) {
    return Typing.error(token.position, "expected %s but found %s".formatted(what, token.quoted()));
  }

  private void require(String symbol, String what) {
    if (!token.is(symbol)) {
      throw expected(what);
    }
    next();
  }

  private void count(Token at) {
    if (++nodes > MAX_NODES) {
      throw Typing.error(
          at.position,
          "the expression has more than %d numbers, names and operators".formatted(MAX_NODES));
    }
  }

  private Term call(Token at, Function function, Term... operands) {
    count(at);
    return typing.call(at.position, function, List.of(operands));
  }

  private Optional<Function> operator(Map<String, Function> operators) {
    return token.kind == Kind.SYMBOL
        ? Optional.ofNullable(operators.get(token.text))
        : Optional.empty();
  }

  private Term binary(int level) {
    if (level == LEVELS.size()) {
      return prefix();
    }
    var left = binary(level + 1);
    for (var found = operator(LEVELS.get(level));
        found.isPresent();
        found = operator(LEVELS.get(level))) {
      var at = next();
      left = call(at, found.get(), left, binary(level + 1));
      if (level == COMPARISONS && operator(LEVELS.get(level)).isPresent()) {
        throw Typing.error(
            token.position,
            "comparisons cannot be chained; combine them with &&, for example 0 < x && x < 1");
      }
    }
    return left;
  }

  private Term prefix() {
    if (++depth > MAX_DEPTH) {
      throw Typing.error(
          token.position, "the expression is nested more than %d deep".formatted(MAX_DEPTH));
    }
    var found = operator(PREFIXES);
    Term result;
    if (found.isPresent()) {
      var at = next();
      result = call(at, found.get(), prefix());
    } else {
      result = atom();
      if (token.is("**")) {
        var at = next();
        result = call(at, Function.POWER, result, prefix());
      }
    }
    depth--;
    return result;
  }

  private Term atom() {
    return switch (token.kind) {
      case NUMBER -> {
        count(token);
        yield number(next());
      }
      case NAME -> {
        var name = next();
        yield token.is("(") ? function(name) : name(name);
      }
      default -> inParentheses();
    };
  }

  private Term inParentheses() {
    if (!token.is("(")) {
      throw expected("a number, a name or \"(\"");
    }
    next();
    var inner = binary(0);
    require(")", "\")\"");
    return inner;
  }

  private static Term number(Token at) {
    if (at.text.chars().allMatch(Character::isDigit)) {
      var digits = at.text.replaceFirst("^0+(?=.)", "");
      if (digits.length() > MAX_INTEGER.length()
          || (digits.length() == MAX_INTEGER.length() && digits.compareTo(MAX_INTEGER) > 0)) {
        throw Typing.error(
            at.position,
            "integers are at most %s; for a float, add a point or an exponent"
                .formatted(MAX_INTEGER));
      }
      return Literal.whole(Long.parseLong(digits));
    }
    double value = Double.parseDouble(at.text);
    if (Double.isInfinite(value)) {
      throw Typing.error(
          at.position,
          "%s exceeds the range of f64; for infinity, write inf".formatted(at.quoted()));
    }
    return Literal.real(value);
  }

  private Term name(Token name) {
    count(name);
    var literal = NAMED.get(name.text);
    if (literal != null) {
      return literal;
    }
    if (name.text.equals("x")) {
      return typing.input(name.position, 0);
    }
    var indexed = INDEXED.matcher(name.text);
    if (indexed.matches()) {
      int index = Integer.parseInt(indexed.group(2));
      return indexed.group(1).equals("x")
          ? typing.input(name.position, index)
          : typing.constant(name.position, index);
    }
    if (Function.named(name.text).isPresent()) {
      throw expected("\"(\" after the function " + name.text);
    }
    throw Typing.error(
        name.position,
        "unknown name %s; use x0, x1, … for inputs, c0, c1, … for constants, or true, false, inf, nan, pi"
            .formatted(name.quoted()));
  }

  private Term function(Token name) {
    var cast = DType.of(name.text).filter(MapOp.DTYPES::contains);
    var function = Function.named(name.text);
    if (cast.isEmpty() && function.isEmpty()) {
      throw unknownFunction(name);
    }
    next();
    var operands = new ArrayList<Term>();
    if (!token.is(")")) {
      operands.add(binary(0));
      while (token.is(",")) {
        next();
        operands.add(binary(0));
      }
    }
    int takes = function.map(Function::operands).orElse(1);
    require(")", operands.size() < takes ? "\",\" or \")\"" : "\")\"");
    if (operands.size() != takes) {
      throw Typing.error(
          name.position,
          "%s takes %d argument%s but has %d"
              .formatted(name.text, takes, takes == 1 ? "" : "s", operands.size()));
    }
    count(name);
    return function.isPresent()
        ? typing.call(name.position, function.get(), operands)
        : typing.cast(name.position, cast.orElseThrow(), operands.getFirst());
  }

  private static OpException unknownFunction(Token name) {
    var all =
        Stream.concat(Function.names().stream(), MapOp.DTYPES.stream().sorted().map(DType::text))
            .toList();
    var near = all.stream().filter(each -> isNear(each, name.text)).toList();
    return Typing.error(
        name.position,
        near.isEmpty()
            ? "unknown function %s; the functions are %s"
                .formatted(name.quoted(), String.join(", ", all))
            : "unknown function %s; did you mean %s?"
                .formatted(
                    name.quoted(), String.join(", ", near).replaceFirst(", ([^,]*)$", " or $1")));
  }

  /** Returns whether a name starts with the other or differs from it in at most two places. */
  private static boolean isNear(String name, String given) {
    if (given.length() > MAX_QUOTED) {
      return false;
    }
    return name.startsWith(given)
        || (given.startsWith(name) && name.length() > 2)
        || distance(name, given) <= Math.min(2, given.length() / 3 + 1);
  }

  /** Returns the number of insertions, deletions and replacements that turn one into the other. */
  private static int distance(String a, String b) {
    var row = new int[b.length() + 1];
    for (int j = 0; j <= b.length(); j++) {
      row[j] = j;
    }
    for (int i = 1; i <= a.length(); i++) {
      int diagonal = row[0];
      row[0] = i;
      for (int j = 1; j <= b.length(); j++) {
        int replaced = diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
        diagonal = row[j];
        row[j] = Math.min(replaced, 1 + Math.min(row[j], row[j - 1]));
      }
    }
    return row[b.length()];
  }
}
