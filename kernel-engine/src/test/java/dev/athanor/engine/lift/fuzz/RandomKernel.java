package dev.athanor.engine.lift.fuzz;

import static dev.athanor.engine.lift.fuzz.Piece.fixed;
import static dev.athanor.engine.lift.fuzz.Piece.statement;
import static dev.athanor.engine.lift.fuzz.Type.BOOLEAN;
import static dev.athanor.engine.lift.fuzz.Type.DOUBLE;
import static dev.athanor.engine.lift.fuzz.Type.INT;
import static dev.athanor.engine.lift.fuzz.Type.LONG;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.lift.fuzz.Scope.Variable;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * A random kernel in Java. It has a defined result: loops end, a thread writes only its elements of
 * the results, shared memory is read after barriers only, and threads do things together only where
 * all come. A seed always gives the same kernel.
 *
 * @param faults whether it may divide by zero and exceed arrays
 */
record RandomKernel(Piece text, Dim3 grid, Dim3 block, boolean faults) {
  static final String NAME = "kernel";

  /** Elements of the results of each type that a thread writes. */
  static final int RESULTS = 8;

  /** Elements of the arrays that are read. */
  static final int INPUTS = 64;

  private static final List<String> ARRAYS =
      List.of("ints", "longs", "floats", "doubles", "bytes", "shorts", "chars");

  private static final List<String> ATOMICS = List.of("Add", "Min", "Max", "Xor", "Or", "And");

  private static final List<Dim3> BLOCKS =
      List.of(
          Dim3.of(32), Dim3.of(64), Dim3.of(8, 4), new Dim3(4, 4, 4), Dim3.of(20), Dim3.of(7, 5));

  static RandomKernel of(String className, long seed) {
    return new Writer(new Random(seed)).write(className);
  }

  /** Writes the parts of a kernel. */
  private static final class Writer {
    private final Random random;
    private final boolean faults;
    private final RandomExpressions expressions;
    private final Dim3 block;

    /** How many more statements the method may have. */
    private int budget;

    Writer(Random random) {
      this.random = random;
      faults = random.nextInt(30) == 0;
      expressions = new RandomExpressions(random, faults);
      block = expressions.pick(BLOCKS);
    }

    RandomKernel write(String className) {
      var parts = new ArrayList<Object>();
      parts.add("import dev.athanor.engine.lift.Gpu;\nimport dev.athanor.engine.lift.GpuKernel;\n");
      parts.add("public class " + className + " {\nrecord Pair(int a, double b) {}\n");
      for (int i = random.nextInt(3); i >= 0; i--) {
        parts.add(helper("helper" + i));
      }
      parts.add("@GpuKernel\npublic static void kernel(int[] ints, long[] longs, float[] floats,\n");
      parts.add("double[] doubles, byte[] bytes, short[] shorts, char[] chars,\n");
      parts.add("int[] intResults, long[] longResults, float[] floatResults,\n");
      parts.add("double[] doubleResults, int[] intSums, long[] longSums,\n");
      parts.add("int n, long m, float f, double d) {\n");
      parts.add("int threads = Gpu.blockDimX() * Gpu.blockDimY() * Gpu.blockDimZ();\n");
      parts.add("int thread = (Gpu.threadIdxZ() * Gpu.blockDimY() + Gpu.threadIdxY())");
      parts.add(" * Gpu.blockDimX() + Gpu.threadIdxX();\n");
      parts.add("int first = 8 * (Gpu.blockIdxX() * threads + thread);\n");
      var scope = new Scope(ARRAYS);
      parameter(scope, "n", INT, true);
      parameter(scope, "m", LONG, true);
      parameter(scope, "f", Type.FLOAT, true);
      parameter(scope, "d", DOUBLE, true);
      parameter(scope, "thread", INT, false);
      for (var type : Type.NUMBERS) {
        parts.add(
            statement(type.word() + "[] shared" + type.plural() + " = Gpu.shared" + type.plural()
                + "(64);\n"));
      }
      for (var type : Type.values()) {
        parts.add(declaration(type, scope, 1));
        parts.add(declaration(type, scope, 1));
      }
      budget = 12 + random.nextInt(20);
      parts.add(statements(scope, 3, true, List.of()));
      for (var type : Type.NUMBERS) {
        for (int i = 0; i < 3; i++) {
          parts.add(
              statement(
                  type.word() + "Results[first + " + i + "] = ",
                  expressions.of(type, scope, 2),
                  ";\n"));
        }
      }
      parts.add("}\n}\n");
      return new RandomKernel(
          new Piece(Piece.Kind.FIXED, null, List.copyOf(parts)),
          Dim3.of(1 + random.nextInt(2)),
          block,
          faults);
    }

    private static void parameter(Scope scope, String name, Type type, boolean uniform) {
      scope.add(new Variable(name, type.word(), type, false, uniform));
    }

    private Piece helper(String name) {
      var result = expressions.pick(List.of(Type.values()));
      boolean takesInts = random.nextInt(3) == 0;
      var scope = new Scope(takesInts ? List.of("ints") : List.of());
      var parameters = new ArrayList<Type>();
      var declared = new StringBuilder(takesInts ? "int[] ints" : "");
      for (int i = random.nextInt(3); i >= 0; i--) {
        var type = expressions.pick(List.of(Type.values()));
        parameters.add(type);
        declared.append(declared.isEmpty() ? "" : ", ").append(type.word()).append(" p").append(i);
        scope.add(new Variable("p" + i, type.word(), type, true, false));
      }
      budget = 5;
      var body = new ArrayList<Object>();
      body.add(declaration(result, scope, 2));
      body.add(statements(scope, 2, false, List.of()));
      if (random.nextBoolean()) {
        body.add(
            statement(
                "if (",
                expressions.of(BOOLEAN, scope, 2),
                ") { return ",
                expressions.of(result, scope, 1),
                "; }\n"));
      }
      body.add(statements(scope, 2, false, List.of()));
      var written =
          fixed(
              "static " + result.word() + " " + name + "(" + declared + ") {\n",
              fixed(body.toArray()),
              "return ",
              expressions.of(result, scope, 2),
              ";\n}\n");
      expressions.add(new RandomExpressions.Helper(name, result, parameters, takesInts));
      return written;
    }

    private Piece declaration(Type type, Scope scope, int depth) {
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
     * @param together whether all threads of the block come here
     * @param loops labels of the enclosing loops that may be left here
     */
    private Piece statements(Scope scope, int depth, boolean together, List<String> loops) {
      var parts = new ArrayList<Object>();
      int count = 1 + random.nextInt(depth > 2 ? 8 : 3);
      for (int i = 0; i < count && budget > 0; i++) {
        budget--;
        parts.add(one(scope, depth, together, loops));
      }
      return fixed(parts.toArray());
    }

    private Piece one(Scope scope, int depth, boolean together, List<String> loops) {
      int choice = random.nextInt(100);
      if (together && choice < 35) {
        return new TogetherStatements(random, expressions, block).of(scope);
      }
      if (depth > 0) {
        switch (choice % 12) {
          case 0, 1 -> {
            boolean same = together && random.nextBoolean();
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
            return loop(scope, depth - 1, together && random.nextBoolean(), loops);
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

    private Piece simple(Scope scope, int choice) {
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
      if (choice % 4 == 1 && !scope.arrays().isEmpty() && scope.arrays().size() > 1) {
        var type = expressions.number();
        var array = type.word() + "Results";
        if (random.nextInt(4) == 0 && type.isInteger()) {
          // the order of operations on an element does not matter if they are the same
          int operation = random.nextInt(ATOMICS.size());
          return statement(
              "Gpu.atomic" + ATOMICS.get(operation) + "(" + type.word() + "Sums, " + operation + ", ",
              expressions.of(type, scope, 2),
              ");\n");
        }
        return statement(
            array + "[first + (",
            expressions.of(INT, scope, 1),
            " & 7)]" + expressions.pick(List.of(" = ", " += ", " -= ", " *= ")),
            expressions.of(type, scope, 3),
            ";\n");
      }
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

    private Piece loop(Scope scope, int depth, boolean together, List<String> outer) {
      var counter = scope.fresh("i");
      var label = scope.fresh("loop");
      var inside = scope.nested();
      inside.add(new Variable(counter, "int", INT, false, together));
      // a thread may leave an outer loop only where no others wait for it there
      var loops = new ArrayList<>(together ? List.<String>of() : outer);
      if (!together) {
        loops.add(label);
      }
      var limit =
          together
              ? expressions.uniformInt(scope)
              : fixed("(", expressions.of(INT, scope, 1), " & 3)");
      var body = statements(inside, depth, together, loops);
      return switch (random.nextInt(3)) {
        case 0 ->
            statement(
                label + ": for (int " + counter + " = 0; " + counter + " < ",
                limit,
                "; " + counter + "++) {\n",
                body,
                "}\n");
        case 1 ->
            statement(
                "int " + counter + " = -1;\n" + label + ": while (++" + counter + " < ",
                limit,
                ") {\n",
                body,
                "}\n");
        default ->
            statement(
                "int " + counter + " = 0;\n" + label + ": do {\n",
                body,
                "} while (++" + counter + " < ",
                limit,
                ");\n");
      };
    }

    /** Returns a switch statement; some of its cases fall through. */
    private Piece choice(Scope scope, int depth, List<String> loops) {
      var parts = new ArrayList<Object>();
      parts.add("switch (0 + ");
      parts.add(expressions.of(INT, scope, 2));
      parts.add(random.nextBoolean() ? " & 7) {\n" : ") {\n");
      int step = random.nextBoolean() ? 1 : 77;
      for (int i = 1 + random.nextInt(4); i >= 0; i--) {
        parts.add("case " + step * i + ": {\n");
        parts.add(statements(scope.nested(), depth, false, loops));
        parts.add(random.nextInt(3) == 0 ? "}\n" : "}\nbreak;\n");
      }
      if (random.nextBoolean()) {
        parts.add("default: {\n");
        parts.add(statements(scope.nested(), depth, false, loops));
        parts.add("}\n");
      }
      parts.add("}\n");
      return statement(parts.toArray());
    }
  }
}
