package dev.athanor.engine.lift.fuzz;

import static dev.athanor.engine.lift.fuzz.Piece.fixed;
import static dev.athanor.engine.lift.fuzz.Piece.statement;
import static dev.athanor.engine.lift.fuzz.Type.BOOLEAN;
import static dev.athanor.engine.lift.fuzz.Type.DOUBLE;
import static dev.athanor.engine.lift.fuzz.Type.INT;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.lift.fuzz.Scope.ArrayVariable;
import dev.athanor.engine.lift.fuzz.Scope.Variable;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Random statements of a method. */
final class RandomStatements {
  private static final List<String> ATOMICS = List.of("Add", "Min", "Max", "Xor", "Or", "And");

  private final Random random;
  private final RandomExpressions expressions;
  private final TogetherStatements together;
  private final NeighborLoads neighbors;
  private final RandomLoops randomLoops;

  /** How many more statements the method may have. */
  private int budget;

  /** Number of loops around the current statement. */
  private int nesting;

  RandomStatements(Random random, RandomExpressions expressions, Dim3 block) {
    this.random = random;
    this.expressions = expressions;
    neighbors = new NeighborLoads(random, expressions);
    together = new TogetherStatements(random, expressions, neighbors, block);
    randomLoops = new RandomLoops(random, expressions);
  }

  /** Allows a number of statements. */
  void allow(int statements) {
    budget = statements;
  }

  Piece declaration(Type type, Scope scope, int depth) {
    var word =
        type == INT && random.nextInt(3) == 0
            ? expressions.pick(List.of("byte", "short", "char"))
            : type.word();
    var name = scope.fresh("v");
    var declared =
        word.equals(type.word())
            ? statement(word + " " + name + " = ", expressions.of(type, scope, depth), ";\n")
            : statement(
                word + " " + name + " = (" + word + ") (",
                expressions.of(type, scope, depth),
                ");\n");
    scope.add(new Variable(name, word, type, true, false));
    return declared;
  }

  /**
   * Returns some statements.
   *
   * @param depth how deep they nest at most
   * @param isTogether whether all threads of the block come here
   * @param loops labels of the enclosing loops that may be left here
   */
  Piece statements(Scope scope, int depth, boolean isTogether, List<String> loops) {
    var parts = new ArrayList<Object>();
    int count = 1 + random.nextInt(depth > 2 ? 8 : 3);
    for (int i = 0; i < count && budget > 0; i++) {
      budget--;
      parts.add(one(scope, depth, isTogether, loops));
    }
    return fixed(parts.toArray());
  }

  private Piece one(Scope scope, int depth, boolean isTogether, List<String> loops) {
    int choice = random.nextInt(100);
    if (isTogether && choice < 35) {
      return together.of(scope);
    }
    if (depth > 0) {
      switch (choice % 12) {
        case 0, 1 -> {
          boolean same = isTogether && random.nextBoolean();
          return statement(
              "if (",
              same ? expressions.uniformCondition(scope) : expressions.of(BOOLEAN, scope, 2),
              ") {\n",
              statements(scope.nested(), depth - 1, same, loops),
              "} else {\n",
              statements(scope.nested(), depth - 1, same, loops),
              "}\n");
        }
        case 2, 3, 4 -> {
          return loop(scope, depth - 1, isTogether && random.nextBoolean(), loops);
        }
        case 5 -> {
          return choice(scope, depth - 1, loops);
        }
        default -> {}
      }
    }
    if (!loops.isEmpty() && choice % 7 == 0) {
      return statement(
          "if (",
          expressions.of(BOOLEAN, scope, 1),
          ") { " + expressions.pick(List.of("break ", "continue ")) + expressions.pick(loops),
          "; }\n");
    }
    return simple(scope, choice);
  }

  /** Returns statements that exchange two variables: in a loop, a cycle of copies. */
  private Piece exchange(Scope scope) {
    var one = expressions.pick(scope.assignable());
    var others = scope.assignable().stream().filter(each -> each.word().equals(one.word()));
    var other = expressions.pick(others.toList());
    var saved = scope.fresh("saved");
    return statement(
        one.word() + " " + saved + " = " + one.name() + ";\n",
        one.name() + " = " + other.name() + ";\n",
        other.name() + " = " + saved + ";\n");
  }

  private Piece simple(Scope scope, int choice) {
    if (choice % 9 == 0 && !scope.assignable().isEmpty()) {
      return exchange(scope);
    }
    if (choice % 13 == 0) {
      return array(scope);
    }
    if (choice % 17 == 0) {
      return privateArray(scope);
    }
    if (choice % 7 == 3 && scope.isKernel()) {
      return neighbors.of(scope);
    }
    if (choice % 5 == 0) {
      return declaration(expressions.pick(List.of(Type.values())), scope, 3);
    }
    if (choice % 11 == 0) {
      var name = scope.pairs().isEmpty() || random.nextBoolean() ? scope.fresh("pair") : "";
      var value = new Object[] {expressions.of(INT, scope, 2), expressions.of(DOUBLE, scope, 2)};
      var target = name.isEmpty() ? expressions.pick(scope.pairs()) : "Pair " + name;
      if (!name.isEmpty()) {
        scope.addPair(name);
      }
      return statement(target + " = new Pair(", value[0], ", ", value[1], ");\n");
    }
    if (choice % 4 == 1 && scope.isKernel()) {
      return store(scope);
    }
    return assignment(scope);
  }

  /** Returns a store to a result of the thread. */
  private Piece store(Scope scope) {
    var type = expressions.number();
    var word = expressions.pick(Arguments.WORDS);
    if (random.nextInt(4) == 0 && type.isInteger()) {
      // the order of operations on an element does not matter if they are the same
      int operation = random.nextInt(ATOMICS.size());
      return statement(
          "Gpu.atomic" + ATOMICS.get(operation) + "(" + type.word() + "Sums, " + operation + ", ",
          expressions.of(type, scope, 2),
          ");\n");
    }
    if (random.nextInt(6) == 0) {
      return segmentStore(scope);
    }
    if (word.equals("boolean")) {
      return statement(
          "booleanResults[first + (",
          expressions.of(INT, scope, 1),
          " & 7)]" + expressions.pick(List.of(" = ", " ^= ", " |= ")),
          expressions.of(BOOLEAN, scope, 2),
          ";\n");
    }
    return statement(
        word + "Results[first + (",
        expressions.of(INT, scope, 1),
        " & 7)]" + expressions.pick(List.of(" = (" + word + ") ", " += ", " -= ", " *= ")),
        "(",
        expressions.of(Type.of(word), scope, 3),
        ")",
        ";\n");
  }

  /** Returns a store to the segment; the thread has 32 bytes of it, as elements of any size. */
  private Piece segmentStore(Scope scope) {
    return random.nextBoolean()
        ? statement(
            "segmentResults.setAtIndex(ValueLayout.JAVA_INT, first + (",
            expressions.of(INT, scope, 1),
            " & 7), ",
            expressions.of(INT, scope, 2),
            ");\n")
        : statement(
            "segmentResults.set(ValueLayout.JAVA_SHORT, 4L * first + 2 * (",
            expressions.of(INT, scope, 1),
            " & 15), (short) (segmentResults.get(ValueLayout.JAVA_BYTE, 4L * first + (",
            expressions.of(INT, scope, 1),
            " & 31)) + ",
            expressions.of(INT, scope, 1),
            "));\n");
  }

  /** Returns a choice between arrays. */
  private Piece array(Scope scope) {
    if (scope.arrays().isEmpty()) {
      return declaration(BOOLEAN, scope, 2);
    }
    var old = scope.arrays().stream().filter(ArrayVariable::assignable).toList();
    if (!old.isEmpty() && random.nextBoolean()) {
      var target = expressions.pick(old);
      return statement(
          "if (",
          expressions.of(BOOLEAN, scope, 1),
          ") { " + target.name() + " = " + expressions.pick(scope.arrays(target.word())).name(),
          "; }\n");
    }
    var word = expressions.pick(scope.isKernel() ? Arguments.OTHERS : List.of("int"));
    var name = scope.fresh("chosen");
    var declared =
        statement(
            word + "[] " + name + " = ",
            expressions.of(BOOLEAN, scope, 1),
            " ? " + expressions.pick(scope.arrays(word)).name(),
            " : " + expressions.pick(scope.arrays(word)).name() + ";\n");
    scope.add(new ArrayVariable(name, word, true));
    return declared;
  }

  /** Returns the declaration of an array of the thread, some elements of which are variables. */
  private Piece privateArray(Scope scope) {
    var word = expressions.pick(Arguments.WORDS);
    var name = scope.fresh("own");
    var indices = new ArrayList<>(List.of("0", "5"));
    if (!scope.of(INT).isEmpty() && random.nextBoolean()) {
      indices.add(expressions.pick(scope.of(INT)).name() + " & 7");
    }
    for (var index : indices) {
      var element = name + "[" + index + "]";
      scope.add(new Variable(element, word, Type.of(word), true, false));
    }
    return statement(word + "[] " + name + " = new " + word + "[8];\n");
  }

  private Piece assignment(Scope scope) {
    var targets = scope.assignable();
    if (targets.isEmpty()) {
      return declaration(INT, scope, 2);
    }
    var target = expressions.pick(targets);
    if (target.type() == BOOLEAN) {
      return statement(target.name() + " = ", expressions.of(BOOLEAN, scope, 3), ";\n");
    }
    var operator = expressions.pick(List.of(" = ", " += ", " -= ", " *= "));
    if (operator.equals(" = ")) {
      return statement(
          target.name() + " = (" + target.word() + ") (",
          expressions.of(target.type(), scope, 3),
          ");\n");
    }
    return statement(
        target.name() + operator, expressions.of(expressions.number(), scope, 3), ";\n");
  }

  private Piece loop(Scope scope, int depth, boolean isTogether, List<String> outer) {
    var label = scope.fresh("loop");
    // a thread may leave an outer loop only where no others wait for it there
    var loops = new ArrayList<>(isTogether ? List.<String>of() : outer);
    if (!isTogether) {
      loops.add(label);
    }
    boolean isInner = nesting > 0;
    nesting++;
    var text =
        randomLoops.of(
            scope,
            label,
            isTogether,
            isInner,
            inside ->
                !isTogether && random.nextInt(3) == 0
                    ? accumulations(inside)
                    : statements(inside, depth, isTogether, loops));
    nesting--;
    return text;
  }

  /** Returns the statements of a loop without branches, which carries values to its next trip. */
  private Piece accumulations(Scope scope) {
    var parts = new ArrayList<Object>();
    for (int i = random.nextInt(3); i >= 0; i--) {
      parts.add(
          switch (random.nextInt(4)) {
            case 0 -> scope.isKernel() ? recurrence(scope) : assignment(scope);
            case 1 -> scope.isKernel() ? neighbors.of(scope) : assignment(scope);
            default -> assignment(scope);
          });
    }
    return fixed(parts.toArray());
  }

  /** Returns a store of a result that depends on the results before. */
  private Piece recurrence(Scope scope) {
    var type = expressions.number();
    var results = type.word() + "Results[first + (";
    var counter = scope.of(INT).getLast().name();
    return statement(
        results + counter + " & 7)] = " + results + counter + " + " + random.nextInt(4) + " & 7)]",
        expressions.pick(List.of(" + ", " - ", " * ")),
        expressions.of(type, scope, 2),
        ";\n");
  }

  /** Returns a switch statement; some of its cases fall through. */
  private Piece choice(Scope scope, int depth, List<String> loops) {
    int step = expressions.pick(List.of(1, 1, 77, -1000003));
    int first = random.nextInt(4) - 2;
    int cases = 1 + random.nextInt(depth > 0 ? 5 : 12);
    int defaultBefore = random.nextInt(2 * cases); // often there is none
    var parts = new ArrayList<Object>();
    boolean masked = random.nextInt(4) > 0;
    parts.add(masked ? "switch ((" : "switch (0 + ");
    parts.add(expressions.of(INT, scope, 2));
    parts.add(masked ? " & 15) * " + step + " + " + first + ") {\n" : ") {\n");
    for (int i = 0; i < cases; i++) {
      if (i == defaultBefore) {
        parts.add("default: ");
        addCase(parts, scope, depth, loops);
      }
      parts.add("case " + (first + step * i) + ": ");
      if (random.nextInt(5) > 0) { // else the label shares the next statements
        addCase(parts, scope, depth, loops);
      }
    }
    parts.add("}\n");
    return statement(parts.toArray());
  }

  private void addCase(List<Object> parts, Scope scope, int depth, List<String> loops) {
    parts.add("{\n");
    parts.add(statements(scope.nested(), depth, false, loops));
    parts.add(random.nextInt(3) == 0 ? "}\n" : "}\nbreak;\n");
  }
}
