package dev.athanor.engine.lift.fuzz;

import static dev.athanor.engine.lift.fuzz.Piece.fixed;
import static dev.athanor.engine.lift.fuzz.Piece.statement;
import static dev.athanor.engine.lift.fuzz.Type.BOOLEAN;
import static dev.athanor.engine.lift.fuzz.Type.INT;

import dev.athanor.engine.device.Dim3;
import java.util.List;
import java.util.Random;

/** Random statements for places where all threads of a block come. */
record TogetherStatements(
    Random random, RandomExpressions expressions, NeighborLoads neighbors, Dim3 block) {
  private static final int LANES = 32;

  Piece of(Scope scope) {
    var type = expressions.number();
    return switch (random.nextInt(8)) {
      case 0 -> throughSharedMemory(type, scope);
      case 1 -> throughAllElements(type, scope);
      case 6 -> inTwoBuffers(type, scope);
      case 2 ->
          assign(
              type,
              scope,
              "Gpu."
                  + expressions.pick(List.of("block", "warp"))
                  + expressions.pick(List.of("Sum(", "Min(", "Max(")),
              expressions.of(type, scope, 2),
              ")");
      case 3, 4 -> shuffle(type, scope);
      default ->
          random.nextBoolean()
              ? assign(INT, scope, "Gpu.ballot(", expressions.of(BOOLEAN, scope, 2), ")")
              : assign(
                  BOOLEAN,
                  scope,
                  expressions.pick(List.of("Gpu.any(", "Gpu.all(")),
                  expressions.of(BOOLEAN, scope, 2),
                  ")");
    };
  }

  /** Returns an assignment to a variable of exactly a type. */
  private Piece assign(Type type, Scope scope, Object... value) {
    var targets =
        scope.of(type).stream()
            .filter(each -> each.assignable() && each.word().equals(type.word()))
            .toList();
    if (targets.isEmpty()) {
      var name = scope.fresh("v");
      scope.add(new Scope.Variable(name, type.word(), type, true, false));
      return statement(type.word() + " " + name + " = ", fixed(value), ";\n");
    }
    return statement(expressions.pick(targets).name() + " = ", fixed(value), ";\n");
  }

  /** Returns statements that give each thread the value of another thread of the block. */
  private Piece throughSharedMemory(Type type, Scope scope) {
    var array = array(type);
    return statement(
        array + "[thread] = ",
        expressions.of(type, scope, 2),
        ";\nGpu.barrier();\n",
        assign(
            type,
            scope,
            array + "[((",
            expressions.of(INT, scope, 2),
            ") & 0x7fffffff) % threads]"),
        "Gpu.barrier();\n");
  }

  private String array(Type type) {
    return expressions.pick(List.of("shared", "spare")) + type.plural();
  }

  /** Returns statements that fill a shared array and read neighboring elements of it. */
  private Piece throughAllElements(Type type, Scope scope) {
    var array = array(type);
    var element = scope.fresh("k");
    return statement(
        "for (int " + element + " = thread; " + element + " < 64; " + element + " += threads) {\n",
        array + "[" + element + "] = ",
        expressions.of(type, scope, 2),
        ";\n}\nGpu.barrier();\n",
        neighbors.ofArray(array, type, scope),
        "Gpu.barrier();\n");
  }

  /** Returns a loop in which two shared arrays change places. */
  private Piece inTwoBuffers(Type type, Scope scope) {
    var front = scope.fresh("front");
    var back = scope.fresh("back");
    var saved = scope.fresh("saved");
    var turn = scope.fresh("turn");
    return statement(
        "%s[] %s = shared%s;\n".formatted(type.word(), front, type.plural()),
        "%s[] %s = spare%s;\n".formatted(type.word(), back, type.plural()),
        "for (int " + turn + " = ",
        expressions.uniformInt(scope),
        "; " + turn + " > 0; " + turn + "--) {\n",
        front + "[thread] = ",
        expressions.of(type, scope, 2),
        ";\nGpu.barrier();\n",
        assign(
            type,
            scope.nested(),
            front,
            "[((",
            expressions.of(INT, scope, 1),
            ") & 63) % threads]"),
        "%s[] %s = %s;\n%s = %s;\n%s = %s;\n}\nGpu.barrier();\n"
            .formatted(type.word(), saved, front, front, back, back, saved));
  }

  private Piece shuffle(Type type, Scope scope) {
    var value = expressions.of(type, scope, 2);
    if (block.count() % LANES != 0) {
      // a part of a warp: only lane 0 is sure to exist in each
      return assign(type, scope, "Gpu.shuffle(", value, ", 0)");
    }
    return switch (random.nextInt(4)) {
      case 0 ->
          assign(type, scope, "Gpu.shuffle(", value, ", ", expressions.of(INT, scope, 2), ")");
      case 1 -> assign(type, scope, "Gpu.shuffleXor(", value, ", ", distance(scope), ")");
      case 2 -> assign(type, scope, "Gpu.shuffleUp(", value, ", ", distance(scope), ")");
      default -> assign(type, scope, "Gpu.shuffleDown(", value, ", ", distance(scope), ")");
    };
  }

  private Piece distance(Scope scope) {
    return expressions.uniformInt(scope);
  }
}
