package dev.athanor.models.fusion;

import dev.athanor.models.graph.Graph.Source;
import dev.athanor.models.graph.Graph.Step;
import dev.athanor.ops.Shape;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Joins the concatenation of rotated first columns and the others into one {@code rope}. */
final class PartialRopeRule implements Rule {

  @Override
  public boolean apply(Rewriter graph, Step last) {
    if (!last.op().equals("concat") || last.inputs().size() != 2) {
      return false;
    }
    var first = Rewriter.input(last, "x0");
    var others = Columns.of(graph, Rewriter.input(last, "x1")).orElse(null);
    var rope = graph.onlyInAnyShape(first).filter(step -> step.op().equals("rope")).orElse(null);
    if (rope == null
        || others == null
        || rope.attributes().containsKey("rotaryDim")
        || !Columns.isLast(last.attributes().getOrDefault("axis", 0), first)) {
      return false;
    }
    var turned = Rewriter.input(rope, "x");
    var x = others.of();
    var columns =
        Columns.of(graph, new Source(turned.name(), graph.type(turned.name()).shape()))
            .orElse(null);
    if (!new Columns(x, 0, others.start()).equals(columns)
        || others.end() != Columns.count(x)
        || Columns.count(turned) != others.start()) {
      return false;
    }
    var extents = new ArrayList<>(turned.shape().extents());
    extents.set(extents.size() - 1, others.end());
    var inputs = new LinkedHashMap<>(rope.inputs());
    inputs.put("x", new Source(x.name(), new Shape(extents)));
    var joined =
        new Step(
            "rope",
            inputs,
            Map.of("rotaryDim", others.start()),
            Map.of("y", Rewriter.output(last)));
    return graph.replace(List.of(last, rope), List.of(joined));
  }
}
