package dev.athanor.ops.indexing;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.Variant;
import dev.athanor.ops.map.Elements;

/**
 * The kernel that writes updates to the slices of y that sorted {@linkplain SortKeys keys} name.
 * The last update of a slice writes it; a reduction instead walks all updates of a slice in one
 * thread per element, in the order of the index, and rounds once at the end.
 *
 * <p>Parameters: the keys, x, the updates, y, the number of keys, the accesses of all updates, the
 * accesses of a slice, the number of slices, the steps of a search.
 *
 * @param dtype of the elements; without a reduction, any of their size
 * @param vector elements per access; 1 with a reduction
 */
record ScatterVariant(DType dtype, ScatterReduction reduction, int vector) implements Variant {

  static final int THREADS = 256;

  @Override
  public String name() {
    return "scatter_%s_%s_v%d".formatted(reduction.text(), dtype.text(), vector);
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(name(), THREADS, k -> new Writer(k).write());
  }

  private final class Writer {
    private final KernelBuilder k;
    private final SortKeys sort;
    private final Elements elements;
    private final GlobalPointer keys;
    private final GlobalPointer x;
    private final GlobalPointer updates;
    private final GlobalPointer y;
    private final Int count;
    private final Int accesses;
    private final Int perSlice;
    private final Int slices;
    private final Int steps;

    Writer(KernelBuilder k) {
      this.k = k;
      sort = new SortKeys(k);
      elements = new Elements(k);
      var type = Elements.type(dtype);
      keys = k.input("keys", Type.S64);
      x = k.input("x", type);
      updates = k.input("updates", type);
      y = k.pointer("y", type);
      count = k.integer("count");
      accesses = k.integer("accesses");
      perSlice = k.integer("perSlice");
      slices = k.integer("slices");
      steps = k.integer("steps");
    }

    void write() {
      var at = k.block().times(THREADS).plus(k.thread());
      var inside = at.lt(accesses);
      var place = at.div(perSlice);
      var column = at.minus(place.times(perSlice)).times(vector);
      var key = keys.loadWhere(inside, place);
      var slice = sort.slice(key);
      var written = inside.and(slice.lt(slices));
      if (reduction == ScatterReduction.NONE) {
        var next = place.plus(1);
        var last = isOther(inside.and(next.lt(count)), next, slice);
        var from = row(updates, sort.position(key));
        var to = row(y, slice);
        var here = written.and(last);
        to.storeWhere(here, column, from.loadWhere(here, vector, column));
      } else {
        var before = place.plus(-1);
        var first = isOther(inside.and(k.integer(0).le(before)), before, slice);
        k.when(written.and(first), () -> reduce(place, slice, column));
      }
    }

    private GlobalPointer row(GlobalPointer pointer, Int slice) {
      return pointer.row(slice, perSlice.times(vector));
    }

    /** Returns whether a key is missing or has another slice. */
    private Predicate isOther(Predicate exists, Int place, Int slice) {
      return exists.not().or(sort.slice(keys.loadWhere(exists, place)).ne(slice));
    }

    private void reduce(Int first, Int slice, Int column) {
      var end = sort.search(keys, first.plus(1), count, sort.first(slice.plus(1).wide()), steps);
      var initial = elements.widen(dtype, row(x, slice).load(column));
      if (initial instanceof Real real) {
        var sum = k.variable(real);
        k.loop(first, end, 1, i -> sum.set((Real) reduction.emit(k, sum, update(i, column))));
        row(y, slice).store(column, elements.narrow(dtype, sum));
      } else {
        var sum = k.variable(initial);
        k.loop(first, end, 1, i -> sum.set(reduction.emit(k, sum, update(i, column))));
        row(y, slice).store(column, sum);
      }
    }

    private Value update(Int place, Int column) {
      var from = row(updates, sort.position(keys.load(place)));
      return elements.widen(dtype, from.load(column));
    }
  }
}
