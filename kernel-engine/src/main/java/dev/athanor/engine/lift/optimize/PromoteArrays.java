package dev.athanor.engine.lift.optimize;

import dev.athanor.engine.lift.ir.Access;
import dev.athanor.engine.lift.ir.Access.Space;
import dev.athanor.engine.lift.ir.ArrayVariable;
import dev.athanor.engine.lift.ir.Block;
import dev.athanor.engine.lift.ir.Edge;
import dev.athanor.engine.lift.ir.Element;
import dev.athanor.engine.lift.ir.Graph;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.lift.ir.ValueType;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Replaces arrays of a thread by values where all indices are constants: each element becomes a
 * parameter of each block that several edges enter.
 */
public final class PromoteArrays implements Pass {

  /** Longer arrays stay in memory. */
  private static final int LONGEST = 256;

  @Override
  public boolean run(Graph graph) {
    boolean changed = false;
    for (var array : List.copyOf(graph.arrays())) {
      if (array.space() == Space.LOCAL && array.length() <= LONGEST) {
        var places = places(graph, array);
        if (places != null) {
          new Promotion(graph, array, places).run();
          graph.arrays().remove(array);
          changed = true;
        }
      }
    }
    return changed;
  }

  /** Returns the elements that addresses point to; null if one has a variable index. */
  private static @Nullable Map<Value, Integer> places(Graph graph, ArrayVariable array) {
    Map<Value, Integer> places = new HashMap<>();
    Set<Value> uses = new HashSet<>();
    for (var block : graph.blocks()) {
      for (var value : block.body()) {
        if (value.is(Op.ARRAY) && value.attribute(ArrayVariable.class).equals(array)) {
          places.put(value, 0);
        } else if (value.is(Op.ADDRESS) && places.containsKey(value.input(0))) {
          if (!value.input(1).is(Op.CONSTANT)) {
            return null;
          }
          long place = places.getOrDefault(value.input(0), 0) + value.input(1).integer();
          if (place < 0 || place >= array.length()) {
            return null;
          }
          places.put(value, (int) place);
        } else if (!isAccess(value)) {
          uses.addAll(value.inputs());
        } else if (value.inputs().size() > 1) {
          uses.addAll(value.inputs().subList(1, value.inputs().size()));
        }
      }
      block.edges().forEach(edge -> uses.addAll(edge.arguments()));
    }
    return places.keySet().stream().anyMatch(uses::contains) ? null : places;
  }

  private static boolean isAccess(Value value) {
    return (value.is(Op.LOAD) || value.is(Op.STORE))
        && value.attribute(Access.class).count() == 1
        && value.attribute(Access.class).offset() == 0;
  }

  /** The promotion of one array. */
  private static final class Promotion {
    private final Graph graph;
    private final ArrayVariable array;
    private final Map<Value, Integer> places;
    private final Map<Value, Value> replaced = new HashMap<>();

    /** The elements at the ends of blocks. */
    private final Map<Block, Value[]> ends = new HashMap<>();

    private final Map<Edge, Block> sources = new HashMap<>();

    Promotion(Graph graph, ArrayVariable array, Map<Value, Integer> places) {
      this.graph = graph;
      this.array = array;
      this.places = places;
    }

    void run() {
      var predecessors = graph.predecessors();
      graph.blocks().forEach(block -> block.edges().forEach(edge -> sources.put(edge, block)));
      List<Edge> passing = new ArrayList<>();
      for (var block : graph.blocks()) {
        var edges = predecessors.getOrDefault(block, List.of());
        var elements = start(edges);
        if (edges.size() > 1) {
          block.parameters().addAll(Arrays.asList(elements));
          passing.addAll(edges);
        }
        ends.put(block, elements.clone());
        rewrite(block, ends.get(block));
      }
      passing.forEach(edge -> edge.arguments().addAll(Arrays.asList(end(edge))));
      graph.replace(replaced);
    }

    private Value[] end(Edge edge) {
      return ends.getOrDefault(sources.get(edge), new Value[0]);
    }

    private Value[] start(List<Edge> edges) {
      if (edges.size() == 1) {
        return end(edges.getFirst());
      }
      var elements = new Value[array.length()];
      var type = array.element().value();
      for (int i = 0; i < elements.length; i++) {
        elements[i] = edges.isEmpty() ? zero(type) : Value.phi(type);
      }
      return elements;
    }

    private static Value zero(ValueType type) {
      return switch (type) {
        case LONG -> Value.constant(0L);
        case FLOAT -> Value.constant(type, 0f);
        case DOUBLE -> Value.constant(type, 0d);
        default -> Value.constant(0);
      };
    }

    private void rewrite(Block block, Value[] elements) {
      var body = new ArrayList<Value>();
      for (var value : block.body()) {
        var place = value.inputs().isEmpty() ? null : places.get(value.input(0));
        if (place == null || !isAccess(value)) {
          body.add(value);
        } else if (value.is(Op.LOAD)) {
          replaced.put(value, elements[place]);
        } else {
          elements[place] = stored(value, body);
        }
      }
      block.body().clear();
      block.body().addAll(body);
    }

    /** Returns what a load of the stored value would return. */
    private Value stored(Value store, List<Value> body) {
      var value = store.input(1);
      var element = array.element();
      if (element != Element.BYTE && element != Element.SHORT && element != Element.CHAR) {
        return value;
      }
      var narrow = new Value(Op.NARROW, ValueType.INT, List.of(value), element, store.source());
      body.add(narrow);
      return narrow;
    }
  }
}
