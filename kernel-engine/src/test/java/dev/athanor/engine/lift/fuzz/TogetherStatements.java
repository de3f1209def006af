package dev.athanor.engine.lift.fuzz;

import static dev.athanor.engine.lift.fuzz.Piece.fixed;
import static dev.athanor.engine.lift.fuzz.Piece.statement;
import static dev.athanor.engine.lift.fuzz.Type.BOOLEAN;
import static dev.athanor.engine.lift.fuzz.Type.INT;

import dev.athanor.engine.device.Dim3;
import java.util.List;
import java.util.Random;

/** Random statements for places where all threads of a block come. */
record TogetherStatements(Random random, RandomExpressions expressions, Dim3 block) {
  private static final int LANES = 32;

  Piece of(Scope scope) {
    var type = expressions.number();
    return switch (random.nextInt(6)) {
      case 0, 1 -> throughSharedMemory(type, scope);
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
    var array = "shared" + type.plural();
    return statement(
        array + "[thread] = ",
        expressions.of(type, scope, 2),
        ";\nGpu.barrier();\n",
        assign(
            type, scope, array + "[((", expressions.of(INT, scope, 2), ") & 0x7fffffff) % threads]"),
        "Gpu.barrier();\n");
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
