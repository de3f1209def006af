package dev.athanor.ops.rank;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.ops.DType;
import dev.athanor.ops.Variant;
import dev.athanor.ops.map.Elements;
import java.util.ArrayList;
import java.util.List;

/**
 * The kernel that sorts chunks of rows and stores the first entries of each chunk.
 *
 * <p>Parameters: x[outer, n, inner] if it is read; the entries [rows, length] of the previous
 * launch if there is one; the number of rows, the length of a row, the chunks per row, the entries
 * to keep per chunk; the parameters of {@link ResultWriter}.
 *
 * @param dtype of x; only its size matters if x is not read
 * @param segment maximum entries per chunk, a power of two
 * @param from whether the input is the entries of the previous launch
 */
record SortVariant(DType dtype, int segment, boolean from, Result result) implements Variant {

  /** Returns the variant; kernels that do not read x are shared between dtypes. */
  static SortVariant of(DType dtype, int segment, boolean from, Result result) {
    boolean reads = !from || result.hasValues();
    return new SortVariant(reads ? dtype : RankPlanner.anyOf(dtype), segment, from, result);
  }

  @Override
  public String name() {
    return "rank_sort_%s_%s%s_%d"
        .formatted(
            from && !result.hasValues() ? RankPlanner.size(dtype) : dtype.text(),
            from ? "from_" : "",
            result.text(),
            segment);
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(name(), SharedSort.THREADS, this::write);
  }

  private void write(KernelBuilder k) {
    boolean packed = Entries.arePacked(dtype);
    var entries = new Entries(k, packed);
    var x =
        from && !result.hasValues()
            ? List.<GlobalPointer>of()
            : List.of(k.input("x", Elements.type(dtype)));
    var given = from ? entries.inputs("from") : List.<GlobalPointer>of();
    var rows = k.integer("rows");
    var length = k.integer("length");
    var chunks = k.integer("chunks");
    var kept = k.integer("kept");
    var writer = new ResultWriter(k, entries, result, dtype, x);
    var shared = new SharedSort(k, entries, packed, segment);
    var firstItem = k.block().times(SharedSort.CAPACITY / segment);
    var loaded = new ArrayList<List<Value>>();
    for (var at : shared.positions()) {
      var item = firstItem.plus(at.div(segment));
      var row = item.div(chunks);
      var index = item.minus(row.times(chunks)).times(segment).plus(at.rem(segment));
      var inside = row.lt(rows).and(index.lt(length));
      var entry =
          from
              ? Entries.load(
                  given.stream().map(pointer -> pointer.row(row, length)).toList(), inside, index)
              : entries.of(dtype, writer.element(inside, row, index), index, writer.flip);
      loaded.add(entries.where(inside, entry, entries.last()));
    }
    for (int i = 0; i < loaded.size(); i++) {
      shared.store(shared.positions().get(i), loaded.get(i));
    }
    shared.sort();
    for (var at : shared.positions()) {
      var item = firstItem.plus(at.div(segment));
      var row = item.div(chunks);
      var chunk = item.minus(row.times(chunks));
      var place = at.rem(segment);
      var exists = row.lt(rows).and(chunk.times(segment).plus(place).lt(length));
      var position = chunk.times(kept).plus(place);
      writer.store(exists.and(place.lt(kept)), row, position, shared.load(at));
    }
  }
}
