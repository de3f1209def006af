package dev.athanor.engine.lift.fuzz;

import static dev.athanor.engine.lift.fuzz.Piece.expression;
import static dev.athanor.engine.lift.fuzz.Piece.uniform;
import static dev.athanor.engine.lift.fuzz.Type.BOOLEAN;
import static dev.athanor.engine.lift.fuzz.Type.DOUBLE;
import static dev.athanor.engine.lift.fuzz.Type.FLOAT;
import static dev.athanor.engine.lift.fuzz.Type.INT;
import static dev.athanor.engine.lift.fuzz.Type.LONG;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Random;

/**
 * Random expressions. They are well-typed and have a defined value on a GPU: integer divisors are
 * not 0, and indices are in bounds, unless {@code faults} is set.
 */
final class RandomExpressions {
  private static final List<String> AXES = List.of("X", "Y", "Z");
  private static final List<String> COMPARISONS = List.of("<", "<=", ">", ">=", "==", "!=");

  /**
   * A helper method that expressions can call.
   *
   * @param takesInts whether its first parameter is the array {@code ints}
   */
  record Helper(String name, Type result, List<Type> parameters, boolean takesInts) {}

  private final Random random;
  private final RandomConstants constants;
  private final boolean faults;
  private final List<Helper> helpers = new ArrayList<>();

  RandomExpressions(Random random, boolean faults) {
    this.random = random;
    constants = new RandomConstants(random);
    this.faults = faults;
  }

  void add(Helper helper) {
    helpers.add(helper);
  }

  <T> T pick(List<T> choices) {
    return choices.get(random.nextInt(choices.size()));
  }

  Type number() {
    return pick(Type.NUMBERS);
  }

  private Type integer() {
    return random.nextInt(4) == 0 ? LONG : INT;
  }

  /** Returns an expression. */
  Piece of(Type type, Scope scope, int depth) {
    if (depth <= 0 || random.nextInt(10) == 0) {
      return leaf(type, scope);
    }
    int choice = random.nextInt(100);
    if (choice < 6) {
      return expression(
          type,
          "(",
          of(BOOLEAN, scope, depth - 1),
          " ? ",
          of(type, scope, depth - 1),
          " : ",
          of(type, scope, depth - 1),
          ")");
    }
    if (choice < 11) {
      var callable =
          helpers.stream()
              .filter(each -> each.result() == type)
              .filter(each -> !each.takesInts() || scope.reads("ints"))
              .toList();
      if (!callable.isEmpty()) {
        return call(pick(callable), scope, depth - 1);
      }
    }
    if (choice < 16) {
      return assignment(type, scope, depth - 1);
    }
    if (choice < 19) {
      return choice(type, scope, depth - 1);
    }
    return switch (type) {
      case INT, LONG -> ofInteger(type, scope, depth - 1);
      case FLOAT, DOUBLE -> ofReal(type, scope, depth - 1);
      case BOOLEAN -> ofBoolean(scope, depth - 1);
    };
  }

  private Piece leaf(Type type, Scope scope) {
    var variables = scope.of(type);
    int choice = random.nextInt(10);
    if (type == INT && random.nextInt(12) == 0) {
      return measure(scope);
    }
    if (choice == 9 && type != BOOLEAN && scope.isKernel()) {
      return ofThread(type);
    }
    if (choice < 7 && !variables.isEmpty()) {
      return expression(type, pick(variables).name());
    }
    if (choice < 8 && !scope.pairs().isEmpty() && type != BOOLEAN) {
      var name = pick(scope.pairs());
      var pair = random.nextInt(3) == 0 ? name + ".with(" + random.nextInt(99) + ")" : name;
      return switch (type) {
        case INT -> expression(type, pair, ".a()");
        case DOUBLE -> expression(type, pair, ".b()");
        case FLOAT -> expression(type, "(float) ", pair, ".b()");
        default -> expression(type, "(long) ", pair, ".a()");
      };
    }
    return expression(type, constants.of(type));
  }

  private static Piece infix(Type type, Piece one, String operator, Piece other) {
    return expression(type, "(", one, operator, other, ")");
  }

  /** Returns a call of a method whose name ends with the parenthesis. */
  private static Piece call(Type type, String name, Piece... arguments) {
    var parts = new ArrayList<Object>();
    parts.add(name);
    for (int i = 0; i < arguments.length; i++) {
      parts.add(i > 0 ? ", " : "");
      parts.add(arguments[i]);
    }
    parts.add(")");
    return expression(type, parts.toArray());
  }

  /** Returns the length of an array, or an index of the thread. */
  private Piece measure(Scope scope) {
    return scope.arrays().isEmpty() || random.nextBoolean()
        ? expression(INT, "Gpu." + pick(List.of("threadIdx", "blockDim")) + pick(AXES) + "()")
        : expression(INT, pick(scope.arrays()).name(), ".length");
  }

  private Piece call(Helper helper, Scope scope, int depth) {
    var parts = new ArrayList<Object>();
    parts.add(helper.name() + "(");
    if (helper.takesInts()) {
      parts.add("ints");
    }
    for (int i = 0; i < helper.parameters().size(); i++) {
      parts.add(i > 0 || helper.takesInts() ? ", " : "");
      parts.add(of(helper.parameters().get(i), scope, depth));
    }
    parts.add(")");
    return expression(helper.result(), parts.toArray());
  }

  /** Returns an assignment or increment as an expression, so that the order of evaluation shows. */
  private Piece assignment(Type type, Scope scope, int depth) {
    var targets =
        scope.of(type).stream()
            .filter(each -> each.assignable() && each.word().equals(type.word()))
            .toList();
    if (targets.isEmpty()) {
      return leaf(type, scope);
    }
    var name = pick(targets).name();
    if (type == BOOLEAN) {
      return expression(
          type,
          "(",
          name,
          pick(List.of(" = ", " ^= ", " |= ", " &= ")),
          of(type, scope, depth),
          ")");
    }
    return switch (random.nextInt(4)) {
      case 0 -> expression(type, "(", name, pick(List.of("++", "--")), ")");
      case 1 -> expression(type, "(", pick(List.of("++", "--")), name, ")");
      case 2 -> expression(type, "(", name, " = ", of(type, scope, depth), ")");
      default ->
          expression(
              type,
              "(",
              name,
              pick(List.of(" += ", " -= ", " *= ")),
              of(number(), scope, depth),
              ")");
    };
  }

  /** Returns a switch expression. */
  private Piece choice(Type type, Scope scope, int depth) {
    int first = random.nextInt(3) - 1;
    int step = random.nextBoolean() ? 1 : 1000;
    return expression(
        type,
        "(switch (0 + ",
        of(INT, scope, depth),
        random.nextBoolean() ? " & 3" : "",
        ") { case " + first + ", " + (first + step) + " -> ",
        of(type, scope, depth),
        "; case " + (first + 2 * step) + " -> ",
        of(type, scope, depth),
        "; default -> ",
        of(type, scope, depth),
        "; })");
  }

  private Piece ofInteger(Type type, Scope scope, int depth) {
    var box = type == INT ? "Integer" : "Long";
    var other = type == INT ? INT : random.nextInt(3) == 0 ? INT : LONG;
    return switch (random.nextInt(21)) {
      case 0, 1, 2, 3 ->
          binary(type, other, pick(List.of("+", "-", "*", "&", "|", "^")), scope, depth);
      case 4, 5 ->
          infix(
              type,
              of(type, scope, depth),
              pick(List.of(" << ", " >> ", " >>> ")),
              of(integer(), scope, depth));
      case 6, 7 ->
          infix(
              type,
              of(type, scope, depth),
              pick(List.of(" / ", " % ")),
              divisor(type, scope, depth));
      case 8 -> expression(type, "(", pick(List.of("- ", "~")), of(type, scope, depth), ")");
      case 9, 10 -> cast(type, scope, depth);
      case 11 -> load(type, scope, depth);
      case 12 ->
          call(
              type,
              pick(List.of("Math.min(", "Math.max(")),
              of(type, scope, depth),
              of(other, scope, depth));
      case 13 ->
          call(
              type,
              pick(List.of("Math.floorMod(", "Math.floorDiv(")),
              of(type, scope, depth),
              guarded(type, scope, depth));
      case 14 ->
          call(
              type,
              box + pick(List.of(".divideUnsigned(", ".remainderUnsigned(")),
              of(type, scope, depth),
              guarded(type, scope, depth));
      case 15 ->
          call(
              type,
              box + pick(List.of(".rotateLeft(", ".rotateRight(")),
              of(type, scope, depth),
              of(INT, scope, depth));
      case 16 ->
          call(
              type,
              "("
                  + type.word()
                  + ") "
                  + box
                  + pick(
                      List.of(".bitCount(", ".numberOfLeadingZeros(", ".numberOfTrailingZeros(")),
              of(type, scope, depth));
      case 17 ->
          expression(
              type, pick(List.of("Math.abs(", box + ".reverse(")), of(type, scope, depth), ")");
      case 18 ->
          call(
              type,
              "(" + type.word() + ") " + box + pick(List.of(".compare(", ".compareUnsigned(")),
              of(type, scope, depth),
              of(type, scope, depth));
      case 19 -> {
        boolean single = random.nextBoolean();
        var real = single ? FLOAT : DOUBLE;
        var name = "(" + type.word() + ") " + (single ? "Float" : "Double") + ".compare(";
        yield call(type, name, of(real, scope, depth), of(real, scope, depth));
      }
      default -> {
        var from = number();
        yield from.isInteger()
            ? binary(type, type, "+", scope, depth)
            : expression(type, "(" + type.word() + ") ", "(", of(from, scope, depth), ")");
      }
    };
  }

  private Piece divisor(Type type, Scope scope, int depth) {
    return faults && random.nextInt(8) == 0
        ? expression(type, "(", of(type, scope, depth), " & 7)")
        : guarded(type, scope, depth);
  }

  private Piece guarded(Type type, Scope scope, int depth) {
    return switch (random.nextInt(3)) {
      case 0 -> Piece.fixed("(", of(type, scope, depth), " | 1)");
      case 1 -> Piece.fixed(pick(List.of("3", "7", "16", "(-5)", "(-1)", "100")));
      default -> Piece.fixed("Math.max(1, ", of(type, scope, depth), ")");
    };
  }

  private Piece binary(Type type, Type other, String operator, Scope scope, int depth) {
    var one = of(type, scope, depth);
    var two = of(other, scope, depth);
    return random.nextBoolean()
        ? infix(type, one, " " + operator + " ", two)
        : infix(type, two, " " + operator + " ", one);
  }

  private Piece cast(Type type, Scope scope, int depth) {
    var to = type == INT ? pick(List.of("byte", "short", "char", "int")) : "long";
    return expression(type, "(" + to + ") (", of(number(), scope, depth), ")");
  }

  /** Returns an element of an array or segment that can be read. */
  private Piece load(Type type, Scope scope, int depth) {
    var word =
        type == INT && random.nextBoolean() ? pick(List.of("byte", "short", "char")) : type.word();
    if (scope.isKernel() && type != BOOLEAN && random.nextInt(4) == 0) {
      boolean wide = type == LONG || type == DOUBLE;
      var segment = wide || random.nextBoolean() ? "segment" : "slice";
      return expression(
          type,
          segment + ".getAtIndex(ValueLayout.JAVA_" + word.toUpperCase(Locale.ROOT) + ", ",
          index(scope, depth),
          ")");
    }
    var arrays = scope.arrays(word);
    return arrays.isEmpty()
        ? leaf(type, scope)
        : expression(type, pick(arrays).name(), "[", index(scope, depth), "]");
  }

  /** Returns an element of an array of the arguments at an index that depends on the thread. */
  Piece ofThread(Type type) {
    return expression(type, type.array() + "[(thread + " + random.nextInt(64) + ") & 63]");
  }

  private Piece index(Scope scope, int depth) {
    boolean over = faults && random.nextInt(8) == 0;
    return Piece.fixed("(", of(INT, scope, depth), over ? ") & 127" : ") & 63");
  }

  private Piece ofReal(Type type, Scope scope, int depth) {
    return switch (random.nextInt(12)) {
      case 0, 1, 2, 3, 4 -> {
        var other = type == FLOAT ? pick(List.of(INT, LONG, FLOAT)) : number();
        yield binary(
            type,
            random.nextInt(3) == 0 ? other : type,
            pick(List.of("+", "-", "*", "/", "%")),
            scope,
            depth);
      }
      case 5 -> expression(type, "(- ", of(type, scope, depth), ")");
      case 6 -> load(type, scope, depth);
      case 7 -> expression(type, "(" + type.word() + ") (", of(number(), scope, depth), ")");
      case 8 ->
          call(
              type,
              pick(List.of("Math.min(", "Math.max(")),
              of(type, scope, depth),
              of(type, scope, depth));
      case 9 ->
          call(
              type,
              "Math.fma(",
              of(type, scope, depth),
              of(type, scope, depth),
              of(type, scope, depth));
      case 10 ->
          call(
              type,
              "("
                  + type.word()
                  + ") "
                  + pick(List.of("Math.sqrt(", "Math.floor(", "Math.ceil(", "Math.rint(")),
              of(type, scope, depth));
      default ->
          expression(type, pick(List.of("Math.abs(", "Math.signum(")), of(type, scope, depth), ")");
    };
  }

  private Piece ofBoolean(Scope scope, int depth) {
    return switch (random.nextInt(8)) {
      case 0, 1, 2, 3 ->
          infix(
              BOOLEAN,
              of(number(), scope, depth),
              " " + pick(COMPARISONS) + " ",
              of(number(), scope, depth));
      case 4, 5 ->
          infix(
              BOOLEAN,
              of(BOOLEAN, scope, depth),
              pick(List.of(" && ", " || ")),
              of(BOOLEAN, scope, depth));
      case 6 ->
          infix(
              BOOLEAN,
              of(BOOLEAN, scope, depth),
              pick(List.of(" ^ ", " & ", " | ", " == ", " != ")),
              of(BOOLEAN, scope, depth));
      default ->
          switch (random.nextInt(4)) {
            case 3 -> load(BOOLEAN, scope, depth);
            case 0 -> expression(BOOLEAN, "(!", of(BOOLEAN, scope, depth), ")");
            case 1 -> expression(BOOLEAN, "Float.isNaN(", of(FLOAT, scope, depth), ")");
            default -> expression(BOOLEAN, "Double.isInfinite(", of(DOUBLE, scope, depth), ")");
          };
    };
  }

  /** Returns an int that is the same in all threads. */
  Piece uniformInt(Scope scope) {
    var variables = scope.uniform(INT);
    return random.nextBoolean() || variables.isEmpty()
        ? uniform(INT, String.valueOf(random.nextInt(5)))
        : uniform(INT, "(", pick(variables).name(), " & 7)");
  }

  /** Returns a condition that is the same in all threads of a block. */
  Piece uniformCondition(Scope scope) {
    return uniform(
        BOOLEAN, "(", uniformInt(scope), " " + pick(COMPARISONS) + " ", uniformInt(scope), ")");
  }
}
