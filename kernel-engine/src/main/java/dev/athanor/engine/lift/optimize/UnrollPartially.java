package dev.athanor.engine.lift.optimize;

import dev.athanor.engine.lift.ir.Block;
import dev.athanor.engine.lift.ir.Edge;
import dev.athanor.engine.lift.ir.Effect;
import dev.athanor.engine.lift.ir.Graph;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Terminator;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.lift.ir.ValueType;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Unrolls small innermost loops that load, and whose number of iterations is known only at run
 * time, so that the loads of several iterations are in flight at once. A new loop makes {@link
 * #COPIES} iterations at a time as long as that many are left; the old loop makes the rest. As in
 * nvcc, the step must be a literal.
 */
public final class UnrollPartially implements Pass {
  private static final int COPIES = 4;
  private static final int MOST_INSTRUCTIONS = 40;

  @Override
  public boolean run(Graph graph) {
    var dominators = new Dominators(graph);
    var loops = Loop.of(graph, dominators);
    Set<Block> headers = loops.stream().map(Loop::header).collect(Collectors.toSet());
    boolean changed = false;
    for (var loop : loops) {
      boolean isInnermost = loop.blocks().stream().filter(headers::contains).count() == 1;
      if (isInnermost && isWorthwhile(loop)) {
        var counted = CountedLoop.of(loop);
        counted.ifPresent(UnrollPartially::unroll);
        changed |= counted.isPresent();
      }
    }
    return changed;
  }

  private static boolean isWorthwhile(Loop loop) {
    var values = loop.blocks().stream().flatMap(block -> block.body().stream()).toList();
    return values.size() <= MOST_INSTRUCTIONS
        && values.stream().anyMatch(value -> value.is(Op.LOAD))
        && values.stream().noneMatch(value -> value.effect() == Effect.CONVERGENT)
        && loop.header().body().stream().allMatch(value -> value.effect() == Effect.NONE);
  }

  private static void unroll(CountedLoop counted) {
    var loop = counted.loop();
    var entry = loop.entries().getFirst();
    var before = new Block();
    var main = new Block();
    loop.header().parameters().forEach(p -> main.parameters().add(Value.phi(p.type())));
    var limit = counted.limit(COPIES, before.body());
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
    for (int copy = 0; copy < COPIES; copy++) {
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
