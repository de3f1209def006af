package dev.athanor.engine.lift.optimize;

import dev.athanor.engine.lift.ir.Block;
import dev.athanor.engine.lift.ir.Edge;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Terminator;
import dev.athanor.engine.lift.ir.Value;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A copy of some blocks. Edges among them lead to the copies, others to where they led. */
final class LoopCopy {
  private final Map<Block, Block> blocks = new HashMap<>();
  private final Map<Value, Value> values = new HashMap<>();

  LoopCopy(Collection<Block> originals) {
    for (var block : originals) {
      var copy = new Block();
      blocks.put(block, copy);
      for (var parameter : block.parameters()) {
        var phi = Value.phi(parameter.type());
        values.put(parameter, phi);
        copy.parameters().add(phi);
      }
    }
    for (var block : originals) {
      for (var value : block.body()) {
        values.put(value, value.with(value.inputs()));
      }
    }
    for (var block : originals) {
      var copy = of(block);
      for (var value : block.body()) {
        var theirs = of(value);
        theirs.mapInputs(this::of);
        copy.body().add(theirs);
      }
      copy.setEnd(
          switch (block.end()) {
            case Terminator.Jump(var to) -> new Terminator.Jump(of(to));
            case Terminator.Branch(var condition, var yes, var no) ->
                new Terminator.Branch(of(condition), of(yes), of(no));
            case Terminator.Return end -> end;
          });
    }
  }

  Block of(Block block) {
    return blocks.getOrDefault(block, block);
  }

  Value of(Value value) {
    return value.is(Op.CONSTANT) ? value : values.getOrDefault(value, value);
  }

  /** Returns the copies of values. */
  Map<Value, Value> values() {
    return values;
  }

  private Edge of(Edge edge) {
    List<Value> arguments = edge.arguments().stream().map(this::of).toList();
    return new Edge(of(edge.target()), arguments);
  }
}
