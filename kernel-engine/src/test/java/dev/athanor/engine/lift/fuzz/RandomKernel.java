package dev.athanor.engine.lift.fuzz;

import static dev.athanor.engine.lift.fuzz.Piece.fixed;
import static dev.athanor.engine.lift.fuzz.Piece.statement;
import static dev.athanor.engine.lift.fuzz.Type.BOOLEAN;
import static dev.athanor.engine.lift.fuzz.Type.DOUBLE;
import static dev.athanor.engine.lift.fuzz.Type.INT;
import static dev.athanor.engine.lift.fuzz.Type.LONG;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.lift.fuzz.Scope.ArrayVariable;
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

  /** Size of the dynamic shared memory: 64 elements of any type. */
  static final int DYNAMIC_BYTES = 512;

  private static final List<Dim3> BLOCKS =
      List.of(
          Dim3.of(32), Dim3.of(64), Dim3.of(8, 4), new Dim3(4, 4, 4), Dim3.of(20), Dim3.of(7, 5));

  /** Returns the number of threads of all blocks. */
  int threads() {
    return (int) (grid.count() * block.count());
  }

  static RandomKernel of(String className, long seed) {
    return new Writer(new Random(seed)).write(className);
  }

  /** Writes the parts of a kernel. */
  private static final class Writer {
    private final Random random;
    private final boolean faults;
    private final RandomExpressions expressions;
    private final RandomStatements statements;
    private final Dim3 block;

    Writer(Random random) {
      this.random = random;
      faults = random.nextInt(30) == 0;
      expressions = new RandomExpressions(random, faults);
      block = expressions.pick(BLOCKS);
      statements = new RandomStatements(random, expressions, block);
    }

    RandomKernel write(String className) {
      var parts = new ArrayList<Object>();
      parts.add("import dev.athanor.engine.lift.Gpu;\nimport dev.athanor.engine.lift.GpuKernel;\n");
      parts.add("import java.lang.foreign.MemorySegment;\n");
      parts.add("import java.lang.foreign.ValueLayout;\n");
      parts.add("public class " + className + " {\nrecord Pair(int a, double b) {\n");
      parts.add("Pair with(int x) { return new Pair(a ^ x, b + a); } }\n");
      for (int i = random.nextInt(3); i >= 0; i--) {
        parts.add(helper("helper" + i));
      }
      parts.add("@GpuKernel\npublic static void kernel(" + Arguments.declarations() + ") {\n");
      parts.add("int threads = Gpu.blockDimX() * Gpu.blockDimY() * Gpu.blockDimZ();\n");
      parts.add("int thread = (Gpu.threadIdxZ() * Gpu.blockDimY() + Gpu.threadIdxY())");
      parts.add(" * Gpu.blockDimX() + Gpu.threadIdxX();\n");
      parts.add("int first = 8 * ((Gpu.blockIdxY() * Gpu.gridDimX() + Gpu.blockIdxX())");
      parts.add(" * threads + thread);\n");
      var scope = new Scope(true);
      Arguments.WORDS.forEach(word -> scope.add(new ArrayVariable(word + "s", word, false)));
      Arguments.OTHERS.forEach(
          word -> scope.add(new ArrayVariable(Arguments.other(word), word, false)));
      parameter(scope, "n", INT, true);
      parameter(scope, "m", LONG, true);
      parameter(scope, "f", Type.FLOAT, true);
      parameter(scope, "d", DOUBLE, true);
      parameter(scope, "thread", INT, false);
      var dynamic = expressions.number();
      for (var type : Type.NUMBERS) {
        parts.add(sharedArray("shared", type, "shared" + type.plural() + "(64)"));
        parts.add(
            sharedArray(
                "spare",
                type,
                type == dynamic
                    ? "dynamicShared" + type.plural() + "()"
                    : "shared" + type.plural() + "(64)"));
      }
      for (var type : Type.NUMBERS) {
        var name = scope.fresh("v");
        parts.add(statement(type.word() + " " + name + " = ", expressions.ofThread(type), ";\n"));
        scope.add(new Variable(name, type.word(), type, true, false));
        parts.add(statements.declaration(type, scope, 1));
      }
      parts.add(statements.declaration(BOOLEAN, scope, 1));
      statements.allow(12 + random.nextInt(20));
      parts.add(statements.statements(scope, 3, true, List.of()));
      for (var type : Type.NUMBERS) {
        int i = 0;
        for (var variable : scope.of(type)) {
          if (variable.assignable() && i < Arguments.RESULTS / 2) {
            parts.add(
                statement(
                    type.word() + "Results[first + " + i++ + "] += " + variable.name() + ";\n"));
          }
        }
      }
      parts.add("}\n}\n");
      return new RandomKernel(
          new Piece(Piece.Kind.FIXED, null, List.copyOf(parts)),
          expressions.pick(List.of(Dim3.of(1), Dim3.of(2), Dim3.of(1, 2))),
          block,
          faults);
    }

    private static Piece sharedArray(String prefix, Type type, String call) {
      return statement(type.word() + "[] " + prefix + type.plural() + " = Gpu." + call + ";\n");
    }

    private static void parameter(Scope scope, String name, Type type, boolean uniform) {
      scope.add(new Variable(name, type.word(), type, false, uniform));
    }

    private Piece helper(String name) {
      var result = expressions.pick(List.of(Type.values()));
      boolean takesInts = random.nextInt(3) == 0;
      var scope = new Scope(false);
      if (takesInts) {
        scope.add(new ArrayVariable("ints", "int", false));
      }
      var parameters = new ArrayList<Type>();
      var declared = new StringBuilder(takesInts ? "int[] ints" : "");
      for (int i = random.nextInt(3); i >= 0; i--) {
        var type = expressions.pick(List.of(Type.values()));
        parameters.add(type);
        declared.append(declared.isEmpty() ? "" : ", ").append(type.word()).append(" p").append(i);
        scope.add(new Variable("p" + i, type.word(), type, true, false));
      }
      statements.allow(5);
      var body = new ArrayList<Object>();
      body.add(statements.declaration(result, scope, 2));
      body.add(statements.statements(scope, 2, false, List.of()));
      if (random.nextBoolean()) {
        body.add(
            statement(
                "if (",
                expressions.of(BOOLEAN, scope, 2),
                ") { return ",
                expressions.of(result, scope, 1),
                "; }\n"));
      }
      body.add(statements.statements(scope, 2, false, List.of()));
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
  }
}
