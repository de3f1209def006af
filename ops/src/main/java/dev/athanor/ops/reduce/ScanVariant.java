package dev.athanor.ops.reduce;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
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

/**
 * The kernel that combines each element of x[outer, n, inner] with all elements before it along n.
 * A block processes a row, or 32 neighboring columns, in chunks; a state carries the combination of
 * all earlier chunks. Elements beyond the end come last, so that no result depends on them.
 *
 * <p>Parameters: x, y, n, inner.
 *
 * @param reduction the sum or the product
 * @param rows whether inner is 1: lanes process neighbors along n, not along inner
 * @param exclusive whether an element is not part of its own result
 * @param reverse whether elements are combined with those after them
 * @param vector elements per access along rows; divides n
 */
record ScanVariant(
    Reduction reduction, DType dtype, boolean rows, boolean exclusive, boolean reverse, int vector)
    implements Variant {

  static final int THREADS = 256;
  private static final int WARPS = THREADS / KernelBuilder.WARP;

  /** Rows of a chunk of columns that a thread processes. */
  private static final int DEPTH = 8;

  /** Returns the number of blocks. */
  long blocks(long outer, long inner) {
    return rows ? outer : outer * Math.ceilDiv(inner, KernelBuilder.WARP);
  }

  /** Returns the number of elements along n that a block processes per chunk. */
  int chunk() {
    return rows ? THREADS * vector : WARPS * DEPTH;
  }

  @Override
  public String name() {
    return "scan_%s_%s_%s%s%s_v%d"
        .formatted(
            reduction.name().toLowerCase(Locale.ROOT),
            dtype.text(),
            rows ? "rows" : "columns",
            exclusive ? "_exclusive" : "",
            reverse ? "_reverse" : "",
            vector);
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(name(), THREADS, k -> new Writer(k).write());
  }

  private final class Writer {
    private final KernelBuilder k;
    private final Elements elements;
    private final Type number = reduction.number(dtype);
    private final Fold fold = reduction.fold(number);
    private final GlobalPointer x;
    private final GlobalPointer y;
    private final Int n;
    private final Int inner;
    private final List<SharedTile> totals = new ArrayList<>();

    /** The state of all earlier chunks. */
    private final List<Value.Variable> carry = new ArrayList<>();

    Writer(KernelBuilder k) {
      this.k = k;
      elements = new Elements(k);
      x = k.pointer("x", Elements.type(dtype));
      y = k.pointer("y", Elements.type(dtype));
      n = k.integer("n");
      inner = k.integer("inner");
      int columns = rows ? 1 : KernelBuilder.WARP;
      for (var type : fold.state(number)) {
        totals.add(k.shared(type, WARPS, columns, columns));
      }
      empty().forEach(value -> carry.add(k.variable(value)));
    }

    private List<Value> empty() {
      return fold.empty(k, number, k.integer(0));
    }

    /** Adds a number, which affects no result if it does not exist. */
    private List<Value> add(List<Value> state, Value next, Predicate inside) {
      return fold.add(k, state, next, k.integer(0), inside);
    }

    void write() {
      if (rows) {
        alongRows();
      } else {
        alongColumns();
      }
    }

    private void alongRows() {
      var from = x.matrix(k.block(), n.wide());
      var to = y.matrix(k.block(), n.wide());
      k.loop(
          k.integer(0),
          n,
          chunk(),
          at -> {
            var place = at.plus(k.thread().times(vector));
            var inside = place.lt(n);
            var index = reverse ? n.minus(place).plus(-vector) : place;
            var numbers =
                ordered(
                    from.loadWhere(inside, vector, index).stream()
                        .map(element -> reduction.read(elements, dtype, element))
                        .toList());
            var inLanes = lanes(total(numbers, inside));
            keep(inLanes);
            var lower = inLanes.stream().map(value -> value.fromLaneBelow(1)).toList();
            var below = Fold.where(k.lane().eq(0), empty(), lower);
            var before = fold.merge(k, earlier(k.integer(0)), below);
            to.storeWhere(inside, index, ordered(results(before, numbers, inside)));
          });
    }

    private void alongColumns() {
      var tiles = inner.plus(KernelBuilder.WARP - 1).div(KernelBuilder.WARP);
      var item = k.block().div(tiles);
      var column = k.block().minus(item.times(tiles)).times(KernelBuilder.WARP).plus(k.lane());
      var within = column.lt(inner);
      var from = x.matrix(item, n.wide().times(inner));
      var to = y.matrix(item, n.wide().times(inner));
      k.loop(
          k.integer(0),
          n,
          chunk(),
          at -> {
            var first = at.plus(k.warp().times(DEPTH));
            var numbers = new ArrayList<Value>();
            for (int d = 0; d < DEPTH; d++) {
              var element =
                  from.row(row(first.plus(d)), inner)
                      .loadWhere(first.plus(d).lt(n).and(within), column);
              numbers.add(reduction.read(elements, dtype, element));
            }
            keep(total(numbers, within));
            var results = results(earlier(k.lane()), numbers, within);
            for (int d = 0; d < DEPTH; d++) {
              to.row(row(first.plus(d)), inner)
                  .storeWhere(first.plus(d).lt(n).and(within), column, results.get(d));
            }
          });
    }

    private Int row(Int place) {
      return reverse ? n.minus(place).plus(-1) : place;
    }

    private <T> List<T> ordered(List<T> values) {
      return reverse ? values.reversed() : values;
    }

    private List<Value> total(List<Value> numbers, Predicate inside) {
      var state = empty();
      for (var each : numbers) {
        state = add(state, each, inside);
      }
      return state;
    }

    /** Merges the states of this lane and all lower lanes. */
    private List<Value> lanes(List<Value> own) {
      var state = own;
      for (int distance = 1; distance < KernelBuilder.WARP; distance *= 2) {
        int by = distance;
        var other = state.stream().map(value -> value.fromLaneBelow(by)).toList();
        state = Fold.where(k.lane().lt(by), state, fold.merge(k, other, state));
      }
      return state;
    }

    /** Stores the state of a warp, which its last lane has, or of each column of a warp. */
    private void keep(List<Value> state) {
      k.barrier(); // the states of the previous chunk were read
      for (int i = 0; i < state.size(); i++) {
        if (rows) {
          var last = k.lane().eq(KernelBuilder.WARP - 1);
          totals.get(i).storeWhere(last, k.warp(), k.integer(0), state.get(i));
        } else {
          totals.get(i).store(k.warp(), k.lane(), state.get(i));
        }
      }
      k.barrier();
    }

    /** Returns the state of all elements before those of this warp, and updates the carry. */
    private List<Value> earlier(Int column) {
      List<Value> all = carry.stream().map(value -> value.as(number)).toList();
      var before = all;
      for (int warp = 0; warp < WARPS; warp++) {
        before = warp == 0 ? all : Fold.where(k.warp().lt(warp), before, all);
        int row = warp;
        List<Value> next = totals.stream().map(tile -> tile.load(k.integer(row), column)).toList();
        all = fold.merge(k, all, next);
      }
      for (int i = 0; i < all.size(); i++) {
        carry.get(i).set(all.get(i));
      }
      return before;
    }

    private List<Value> results(List<Value> before, List<Value> numbers, Predicate inside) {
      var results = new ArrayList<Value>();
      var state = before;
      for (var each : numbers) {
        var next = add(state, each, inside);
        results.add(result(exclusive ? state : next));
        state = next;
      }
      return results;
    }

    private Value result(List<Value> state) {
      var result = reduction.result(k, state, n, n);
      return dtype.isFloat() ? elements.narrow(dtype, result) : result;
    }
  }
}
