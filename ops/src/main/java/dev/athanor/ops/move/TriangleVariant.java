package dev.athanor.ops.move;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Variant;
import java.util.ArrayList;
import java.util.List;

/**
 * The kernel that copies one side of a diagonal and zeros the other, whose elements it does not
 * read unless they share an access with the diagonal.
 *
 * <p>Parameters: x, y, the number of accesses, the accesses per row, the rows of a matrix, the
 * index of the first row in its matrix, and the diagonal.
 *
 * @param bytes bytes of an element: 1, 2, 4 or 8
 * @param upper whether elements above the diagonal are kept, otherwise those below
 * @param vector elements per access; divides the columns
 */
record TriangleVariant(int bytes, boolean upper, int vector) implements Variant {

  static final int THREADS = 256;

  /** Accesses per thread, all in flight at once. */
  static final int DEPTH = 2;

  /** A loaded vector and the number of its first column, counted from the diagonal. */
  private record Loaded(Predicate inside, Int at, Int column, List<Value> elements) {}

  @Override
  public String name() {
    return "triangle_%s_b%d_v%d".formatted(upper ? "upper" : "lower", 8 * bytes, vector);
  }

  private Type type() {
    return switch (bytes) {
      case 1 -> Type.U8;
      case 2 -> Type.U16;
      case 4 -> Type.U32;
      default -> Type.U64;
    };
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(name(), THREADS, this::write);
  }

  private void write(KernelBuilder k) {
    var x = k.input("x", type());
    var y = k.pointer("y", type());
    var count = k.integer("count");
    var perRow = k.integer("perRow");
    var rows = k.integer("rows");
    var firstRow = k.integer("firstRow");
    var diagonal = k.integer("diagonal");
    var first = k.block().times(THREADS * DEPTH).plus(k.thread());
    var loaded = new ArrayList<Loaded>();
    for (int d = 0; d < DEPTH; d++) {
      var at = first.plus(d * THREADS);
      var inside = at.lt(count);
      var row = at.div(perRow);
      var column = at.minus(row.times(perRow)).times(vector);
      var position = column.minus(row.plus(firstRow).rem(rows)).minus(diagonal);
      var any = inside.and(isKept(k, upper ? position.plus(vector - 1) : position));
      loaded.add(new Loaded(inside, at, position, x.loadWhere(any, vector, at.times(vector))));
    }
    for (var each : loaded) {
      var kept = new ArrayList<Value>();
      for (int i = 0; i < vector; i++) {
        var element = each.elements.get(i);
        kept.add(vector == 1 ? element : selected(k, element, isKept(k, each.column.plus(i))));
      }
      y.storeWhere(each.inside, each.at.times(vector), kept);
    }
  }

  /** Returns whether the element at a column, counted from the diagonal, is kept. */
  private Predicate isKept(KernelBuilder k, Int column) {
    return upper ? column.ge(k.integer(0)) : column.lt(1);
  }

  private Value selected(KernelBuilder k, Value element, Predicate kept) {
    var bits = element.bits().where(kept, k.integer(0)).value();
    return bytes == 2 ? k.compute(Type.U16, "cvt.u16.u32", bits) : bits;
  }
}
