package dev.athanor.engine.lift.fuzz;

import static dev.athanor.engine.lift.fuzz.Piece.fixed;
import static dev.athanor.engine.lift.fuzz.Piece.statement;
import static dev.athanor.engine.lift.fuzz.Type.INT;
import static dev.athanor.engine.lift.fuzz.Type.LONG;

import dev.athanor.engine.lift.fuzz.Scope.Variable;
import java.util.List;
import java.util.Random;
import java.util.function.Function;

/**
 * Random loops that end. Their counters go up or down by any step, for a number of trips that is
 * known or not, and may come to the ends of their range or pass them. Of some, the step is known
 * only at run time.
 */
record RandomLoops(Random random, RandomExpressions expressions) {
  private static final List<String> FEW = List.of("0", "1", "2", "3", "4", "5");
  private static final List<String> MANY = List.of("0", "1", "3", "4", "5", "8", "9", "33");

  /**
   * The control of a loop.
   *
   * @param word the type of the counter
   * @param step what is added to the counter; negative if it goes down
   * @param end the counter after the last trip, as a Java expression
   * @param test the condition to go on
   */
  private record Control(String word, int step, Piece end, String test) {}

  /**
   * Returns a loop.
   *
   * @param together whether all threads of the block come here and make the same number of trips
   * @param isInner whether it is in another loop, and has few trips
   * @param body makes the body in its scope, which has the counter
   */
  Piece of(
      Scope scope, String label, boolean together, boolean isInner, Function<Scope, Piece> body) {
    var counter = scope.fresh("i");
    var trips = scope.fresh("trips");
    var end = scope.fresh("end");
    int syntax = random.nextInt(3);
    boolean wraps = !together && random.nextInt(10) == 0;
    var control = wraps ? wrapping(trips, counter) : control(together, counter, end, scope);
    var inside = scope.nested();
    boolean isLong = control.word.equals("long");
    inside.add(new Variable(counter, control.word, isLong ? LONG : INT, false, together));
    var number = trips(together, isInner, scope);
    var start =
        "%s %s = (%s) (%s - %s * %s"
            .formatted(control.word, counter, control.word, end, trips, step(control.step));
    var step = random.nextInt(3) == 0 ? scope.fresh("step") : step(control.step);
    var update = counter + " += " + step;
    var before =
        fixed(
            "int " + trips + " = " + (syntax == 2 ? "1 + " : ""),
            number,
            ";\n" + (isLong ? "long " : "int ") + end + " = ",
            control.end,
            ";\n",
            step.startsWith("step")
                ? "int " + step + " = " + step(control.step) + " + (Gpu.gridDimX() >> 20);\n"
                : "");
    var text = body.apply(inside);
    return switch (syntax) {
      case 0 ->
          statement(
              before,
              label + ": for (" + start + "); " + control.test + "; " + update + ") {\n",
              text,
              "}\n");
      case 1 ->
          statement(
              before,
              start + " - " + step(control.step) + ");\n" + label + ": while (",
              control.test.replaceFirst(counter, "(" + update + ")") + ") {\n",
              text,
              "}\n");
      default ->
          statement(
              before,
              start + ");\n" + label + ": do {\n",
              text,
              "} while (" + control.test.replaceFirst(counter, "(" + update + ")") + ");\n");
    };
  }

  private static String step(int step) {
    return step < 0 ? "(" + step + ")" : String.valueOf(step);
  }

  private Piece trips(boolean together, boolean isInner, Scope scope) {
    if (together) {
      return expressions.uniformInt(scope);
    }
    if (random.nextInt(3) == 0) {
      return fixed(expressions.pick(isInner ? FEW : MANY));
    }
    return fixed("(", expressions.of(INT, scope, 1), isInner ? " & 3)" : " & 15)");
  }

  private Control control(boolean together, String counter, String end, Scope scope) {
    int step = expressions.pick(List.of(1, 1, 1, 1, 2, 3, 4, 7, -1, -1, -2, -5));
    if (random.nextInt(5) == 0) {
      // any end will do, as the counter comes to it
      var word = expressions.pick(List.of("int", "int", "long", "byte", "short", "char"));
      var last = together ? fixed("n") : expressions.of(INT, scope, 1);
      return new Control(word, step, last, counter + " != (" + word + ") " + end);
    }
    int skipped = random.nextInt(Math.abs(step)); // the counter may pass the bound
    boolean up = step > 0;
    var bound = end + (up ? " - " : " + ") + skipped;
    var test =
        random.nextBoolean()
            ? counter + (up ? " < " : " > ") + bound
            : counter + (up ? " <= " : " >= ") + bound + (up ? " - 1" : " + 1");
    var near = together ? fixed("(n & 7)") : fixed("(", expressions.of(INT, scope, 1), " & 15)");
    return switch (random.nextInt(5)) {
      case 0 ->
          new Control(
              "int",
              step,
              up ? fixed("Integer.MAX_VALUE - ", near) : fixed("Integer.MIN_VALUE + ", near),
              test);
      case 1 -> new Control("long", step, fixed("Integer.MAX_VALUE + (long) ", near), test);
      case 2 -> new Control("int", step, fixed("- ", near), test);
      default -> new Control("int", step, near, test);
    };
  }

  /** Returns the control of a loop that ends when the counter overflows. */
  private Control wrapping(String trips, String counter) {
    int step = expressions.pick(List.of(1, 3, -1, -4));
    return step > 0
        ? new Control(
            "int", step, fixed("Integer.MAX_VALUE - 1 + (" + trips + " & 1)"), counter + " > 0")
        : new Control("int", step, fixed("Integer.MIN_VALUE + 1"), counter + " < 0");
  }
}
