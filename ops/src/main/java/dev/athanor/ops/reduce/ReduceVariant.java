package dev.athanor.ops.reduce;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.Variant;
import dev.athanor.ops.map.Elements;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * The kernel that reduces x[outer, n, inner] to y[outer, inner]. A long dimension is split into
 * segments, whose states a second launch of another variant merges.
 *
 * <p>Parameters: x, or an array [outer, n, inner] for each value of a state; y, or an array [outer,
 * segments, inner] for each value of a state; outer, n, inner, the length of a segment, the number
 * of segments, the number of elements that are reduced to one, and the divisor of a variance.
 *
 * @param from whether the input is the states of an earlier launch
 * @param to whether the output is states for a later launch
 * @param vector elements per load; divides n and a segment if inner is 1, else inner
 */
record ReduceVariant(
    Reduction reduction, DType in, DType out, Layout layout, boolean from, boolean to, int vector)
    implements Variant {

  static final int THREADS = 256;
  static final int WARPS = THREADS / KernelBuilder.WARP;

  /** The threads that reduce together. */
  enum Layout {
    /** A warp reduces a row; inner is 1. */
    WARP(KernelBuilder.WARP),
    /** A block reduces a row; inner is 1. */
    BLOCK(THREADS),
    /** Each lane reduces its own columns, each warp of a block every eighth row. */
    COLUMNS(WARPS);

    private final int lanes;

    Layout(int lanes) {
      this.lanes = lanes;
    }
  }

  /** Returns the number of loads of a thread in flight at once. */
  int depth() {
    return from ? 1 : layout == Layout.COLUMNS ? 4 : 2;
  }

  /** Returns how many elements along n the threads that reduce together process per round. */
  int round() {
    return layout.lanes * depth() * (layout == Layout.COLUMNS ? 1 : vector);
  }

  /** Returns the number of blocks. */
  long blocks(long outer, long inner, long segments) {
    return switch (layout) {
      case WARP -> Math.ceilDiv(outer * segments, WARPS);
      case BLOCK -> outer * segments;
      case COLUMNS -> outer * segments * Math.ceilDiv(inner, KernelBuilder.WARP * vector);
    };
  }

  private Type number() {
    return reduction.number(in);
  }

  private Fold fold() {
    return reduction.fold(number());
  }

  @Override
  public String name() {
    var name =
        new StringBuilder("reduce_")
            .append(reduction.name().toLowerCase(Locale.ROOT))
            .append('_')
            .append(in.text());
    if (out != in) {
      name.append('_').append(out.text());
    }
    name.append('_').append(layout.name().toLowerCase(Locale.ROOT));
    if (from) {
      name.append("_from");
    }
    if (to) {
      name.append("_to");
    }
    return name.append("_v").append(vector).toString();
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(name(), THREADS, k -> new Writer(k).write());
  }

  private final class Writer {
    private final Fold fold = fold();
    private final KernelBuilder k;
    private final Elements elements;
    private final List<Type> types = fold.state(number());
    private final List<GlobalPointer> sources;
    private final List<GlobalPointer> results;
    private final Int outer;
    private final Int n;
    private final Int inner;
    private final Int segment;
    private final Int segments;
    private final Int count;
    private final Int divisor;

    Writer(KernelBuilder k) {
      this.k = k;
      elements = new Elements(k);
      sources = pointers("x", from, in);
      results = pointers("y", to, out);
      outer = k.integer("outer");
      n = k.integer("n");
      inner = k.integer("inner");
      segment = k.integer("segment");
      segments = k.integer("segments");
      count = k.integer("count");
      divisor = reduction.isDispersion() ? k.integer("divisor") : count;
    }

    private List<GlobalPointer> pointers(String name, boolean states, DType dtype) {
      if (!states) {
        return List.of(k.pointer(name, Elements.type(dtype)));
      }
      var all = new ArrayList<GlobalPointer>();
      for (var type : types) {
        all.add(k.pointer(name + all.size(), type));
      }
      return all;
    }

    void write() {
      switch (layout) {
        case WARP -> {
          var item = k.block().times(WARPS).plus(k.warp());
          k.when(
              item.lt(outer.times(segments)),
              () -> {
                var state = mergeLanes(rowState(item, k.lane()));
                k.when(k.lane().eq(0), () -> store(item, k.integer(0), state));
              });
        }
        case BLOCK -> {
          var state = mergeLanes(rowState(k.block(), k.thread()));
          var shared = tiles(1);
          k.when(k.lane().eq(0), () -> keep(shared, k.integer(0), state));
          k.barrier();
          k.when(
              k.thread().eq(0),
              () -> store(k.block(), k.integer(0), mergeWarps(shared, k.integer(0))));
        }
        case COLUMNS -> columns();
      }
    }

    /**
     * A vector of elements, or the values of one state.
     *
     * @param inside whether these elements exist
     * @param index index of the first element along the reduced axis
     */
    private record Loaded(Predicate inside, Int index, List<Value> values) {}

    /** A state in variables. */
    private final class Accumulator {
      private final List<Supplier<Value>> values = new ArrayList<>();
      private final List<Consumer<Value>> setters = new ArrayList<>();

      /**
       * Creates the state of no numbers.
       *
       * @param first index of the first number that the thread will add, if less than {@code end}
       */
      Accumulator(Int first, Int end) {
        var last = k.integer(Integer.MAX_VALUE);
        // states bring their indices
        var index = from ? last : first.where(first.lt(end), last);
        for (var value : fold.empty(k, number(), index)) {
          if (value instanceof Real real) {
            var variable = k.variable(real);
            values.add(() -> variable);
            setters.add(next -> variable.set(next.widen()));
          } else if (value.type() == Type.S64) {
            var variable = k.variable(value);
            values.add(() -> variable);
            setters.add(variable::set);
          } else {
            var variable = k.variable(value.integer());
            values.add(variable::value);
            setters.add(next -> variable.set(next.integer()));
          }
        }
      }

      /** Returns the state at this point of the kernel. */
      List<Value> now() {
        return values.stream().map(Supplier::get).toList();
      }

      void set(List<Value> state) {
        for (int i = 0; i < setters.size(); i++) {
          setters.get(i).accept(state.get(i));
        }
      }
    }

    private Int begin(Int item) {
      return item.rem(segments).times(segment);
    }

    private Int end(Int item) {
      return begin(item).plus(segment).min(n);
    }

    /** Returns pointers to the matrix [n, inner] of an item. */
    private List<GlobalPointer> matrices(Int item) {
      var row = item.div(segments);
      return sources.stream().map(s -> s.matrix(row, n.wide().times(inner))).toList();
    }

    /** Reduces the elements of a row that this thread reads. */
    private List<Value> rowState(Int item, Int lane) {
      var row = matrices(item);
      var end = end(item);
      var first = begin(item).plus(lane.times(vector));
      var all = new Accumulator(first, end);
      k.loop(
          first,
          end,
          round(),
          at -> {
            var loaded = new ArrayList<Loaded>();
            for (int d = 0; d < depth(); d++) {
              var place = at.plus(d * layout.lanes * vector);
              var inside = place.lt(end);
              loaded.add(new Loaded(inside, place, load(row, inside, place)));
            }
            for (var each : loaded) {
              for (int i = 0; i < vector; i++) {
                take(all, each, i, each.index.plus(i));
              }
            }
          });
      return all.now();
    }

    private List<Value> load(List<GlobalPointer> at, Predicate inside, Int index) {
      return from
          ? at.stream().map(pointer -> pointer.loadWhere(inside, index)).toList()
          : at.getFirst().loadWhere(inside, vector, index);
    }

    /** Adds element {@code i} of a loaded vector, or merges a loaded state. */
    private void take(Accumulator to, Loaded loaded, int i, Int index) {
      if (from) {
        to.set(fold.merge(k, to.now(), loaded.values));
        return;
      }
      var number = reduction.read(elements, in, loaded.values.get(i));
      var known = Fold.where(loaded.inside, number, fold.neutral(k, number()));
      to.set(fold.add(k, to.now(), reduction.term(k, known), index, loaded.inside));
    }

    private List<Value> mergeLanes(List<Value> state) {
      var all = state;
      for (int distance = KernelBuilder.WARP / 2; distance > 0; distance /= 2) {
        int mask = distance;
        all = fold.merge(k, all, all.stream().map(v -> v.fromLaneXor(mask)).toList());
      }
      return all;
    }

    /** Declares shared memory for states: a row of {@code columns} for each warp. */
    private List<SharedTile> tiles(int columns) {
      return types.stream().map(type -> k.shared(type, WARPS, columns, columns)).toList();
    }

    private void keep(List<SharedTile> shared, Int column, List<Value> state) {
      for (int i = 0; i < state.size(); i++) {
        shared.get(i).store(k.warp(), column, state.get(i));
      }
    }

    private List<Value> mergeWarps(List<SharedTile> shared, Int column) {
      List<Value> all = kept(shared, 0, column);
      for (int warp = 1; warp < WARPS; warp++) {
        all = fold.merge(k, all, kept(shared, warp, column));
      }
      return all;
    }

    private List<Value> kept(List<SharedTile> shared, int warp, Int column) {
      return shared.stream().map(tile -> tile.load(k.integer(warp), column)).toList();
    }

    /** Stores the result, or the state, of a column of an item. */
    private void store(Int item, Int column, List<Value> state) {
      var written = to ? state : List.of(result(state));
      for (int i = 0; i < written.size(); i++) {
        results.get(i).row(item, inner).store(column, written.get(i));
      }
    }

    private Value result(List<Value> state) {
      var result = reduction.result(k, state, count, divisor);
      // the low bits of a sum of integers are stored
      return out.isFloat() || reduction.isPosition() ? elements.narrow(out, result) : result;
    }

    private void columns() {
      int width = KernelBuilder.WARP * vector;
      var tilesAlong = inner.plus(width - 1).div(width);
      var item = k.block().div(tilesAlong);
      var firstColumn = k.block().minus(item.times(tilesAlong)).times(width);
      var column = firstColumn.plus(k.lane().times(vector));
      var within = column.lt(inner);
      var rows = matrices(item);
      var end = end(item);
      var first = begin(item).plus(k.warp());
      var all = new ArrayList<Accumulator>();
      for (int i = 0; i < vector; i++) {
        all.add(new Accumulator(first, end));
      }
      k.loop(
          first,
          end,
          round(),
          at -> {
            var loaded = new ArrayList<Loaded>();
            for (int d = 0; d < depth(); d++) {
              var row = at.plus(d * WARPS);
              var inside = row.lt(end).and(within);
              var places = rows.stream().map(matrix -> matrix.row(row, inner)).toList();
              loaded.add(new Loaded(inside, row, load(places, inside, column)));
            }
            for (var each : loaded) {
              for (int i = 0; i < vector; i++) {
                take(all.get(i), each, i, each.index);
              }
            }
          });
      var shared = tiles(width);
      for (int i = 0; i < vector; i++) {
        keep(shared, k.lane().times(vector).plus(i), all.get(i).now());
      }
      k.barrier();
      var mine = firstColumn.plus(k.thread());
      k.when(
          k.thread().lt(width).and(mine.lt(inner)),
          () -> store(item, mine, mergeWarps(shared, k.thread())));
    }
  }
}
