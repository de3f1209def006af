package dev.athanor.engine.lift.optimize;

import dev.athanor.engine.lift.analysis.Dominators;
import dev.athanor.engine.lift.analysis.Loop;
import dev.athanor.engine.lift.ir.Block;
import dev.athanor.engine.lift.ir.Edge;
import dev.athanor.engine.lift.ir.Effect;
import dev.athanor.engine.lift.ir.Graph;
import dev.athanor.engine.lift.ir.Intrinsic;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Terminator;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.lift.ir.ValueType;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Unrolls small innermost loops that load, and whose number of iterations is known only at run
 * time, so that the loads of several iterations are in flight at once. A new loop makes several
 * iterations at a time as long as that many are left; the old loop makes the rest. Loops in which
 * threads wait for each other are unrolled only if all of them surely make the same number of
 * iterations, since a thread in the new loop does not meet one that makes the rest.
 */
public final class UnrollPartially implements Pass {
  /**
   * Loops of up to 60 instructions get four copies, as in nvcc. Longer ones get two, since they
   * already have about as many loads in flight. With more than 120 instructions, counting and
   * testing are less than 3 % of the loop, and copies would only cost registers and instruction
   * cache. So no new loop has more than 240 instructions.
   */
  private static final int MOST_COPIES = 4;

  private static final int MOST_FOR_ALL_COPIES = 60;
  private static final int MOST_INSTRUCTIONS = 120;

  @Override
  public boolean run(Graph graph) {
    var dominators = new Dominators(graph);
    var loops = Loop.of(graph, dominators);
    Set<Block> headers = loops.stream().map(Loop::header).collect(Collectors.toSet());
    boolean changed = false;
    for (var loop : loops) {
      boolean isInnermost = loop.blocks().stream().filter(headers::contains).count() == 1;
      if (isInnermost && isWorthwhile(loop)) {
        var counted = CountedLoop.of(loop).filter(UnrollPartially::keepsTogether);
        counted.ifPresent(UnrollPartially::unroll);
        changed |= counted.isPresent();
      }
    }
    return changed;
  }

  private static Stream<Value> values(Loop loop) {
    return loop.blocks().stream().flatMap(block -> block.body().stream());
  }

  private static boolean isWorthwhile(Loop loop) {
    return values(loop).count() <= MOST_INSTRUCTIONS
        && values(loop).anyMatch(value -> value.is(Op.LOAD))
        && loop.header().body().stream().allMatch(value -> value.effect() == Effect.NONE);
  }

  private static boolean keepsTogether(CountedLoop counted) {
    return values(counted.loop()).noneMatch(UnrollPartially::waits) || counted.isUniform();
  }

  /** Returns whether a thread waits for others: in all calls that write but atomics. */
  private static boolean waits(Value value) {
    return value.effect() == Effect.CONVERGENT
        || (value.is(Op.CALL)
            && value.effect() == Effect.WRITE
            && value.attribute(Intrinsic.class).signature().written().isEmpty());
  }

  private static void unroll(CountedLoop counted) {
    var loop = counted.loop();
    int copies = values(loop).count() <= MOST_FOR_ALL_COPIES ? MOST_COPIES : MOST_COPIES / 2;
    var entry = loop.entries().getFirst();
    var before = new Block();
    var main = new Block();
    loop.header().parameters().forEach(p -> main.parameters().add(Value.phi(p.type())));
    var limit = counted.limit(copies, before.body());
    before.setEnd(new Terminator.Jump(new Edge(main, entry.arguments())));
    entry.setTarget(before);
    entry.setArguments(List.of());

    int number = loop.header().parameters().indexOf(counted.counter());
    var condition =
        new Value(
            Op.COMPARE,
            ValueType.BOOL,
            List.of(main.parameters().get(number), limit),
            counted.limitRelation(),
            counted.counter().source());
    main.body().add(condition);
    var next = new Edge(loop.header(), main.parameters());
    main.setEnd(new Terminator.Branch(condition, next, new Edge(loop.header(), main.parameters())));
    for (int copy = 0; copy < copies; copy++) {
      next = append(counted, next);
    }
    next.setTarget(main);
  }

  /** Lets an edge lead to a copy of the loop's body, and returns the edge that leaves the copy. */
  private static Edge append(CountedLoop counted, Edge edge) {
    var loop = counted.loop();
    var copy = new LoopCopy(loop.blocks());
    var header = copy.of(loop.header());
    edge.setTarget(header);
    if (header.end() instanceof Terminator.Branch(_, var yes, var no)) {
      header.setEnd(new Terminator.Jump(yes.target() == counted.leave().target() ? no : yes));
    }
    return loop.blocks().stream()
        .map(copy::of)
        .flatMap(block -> block.edges().stream())
        .filter(each -> each.target() == header)
        .findFirst()
        .orElseThrow();
  }
}
