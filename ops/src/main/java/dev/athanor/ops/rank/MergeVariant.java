package dev.athanor.ops.rank;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.ops.DType;
import dev.athanor.ops.Variant;
import dev.athanor.ops.map.Elements;
import java.util.List;

/**
 * The kernel that merges groups of sorted runs. Each thread searches the position of its entry in
 * the other runs of the group; the sum of the positions is the rank of the entry.
 *
 * <p>Parameters: x[outer, n, inner] if values are stored; the entries [rows, length] of the
 * previous launch; the blocks per row, the length of a row, of a run and of a group of runs, the
 * steps of a search, the entries to keep per group; the parameters of {@link ResultWriter}.
 *
 * @param dtype of x; only its size matters if x is not read
 */
record MergeVariant(DType dtype, Result result) implements Variant {

  static final int THREADS = 256;

  /** Returns the variant; kernels that do not read x are shared between dtypes. */
  static MergeVariant of(DType dtype, Result result) {
    return new MergeVariant(result.hasValues() ? dtype : RankPlanner.anyOf(dtype), result);
  }

  @Override
  public String name() {
    return "rank_merge_%s_%s"
        .formatted(result.hasValues() ? dtype.text() : RankPlanner.size(dtype), result.text());
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(name(), THREADS, this::write);
  }

  private void write(KernelBuilder k) {
    var entries = new Entries(k, Entries.arePacked(dtype));
    var x =
        result.hasValues() ? List.of(k.input("x", Elements.type(dtype))) : List.<GlobalPointer>of();
    var given = entries.inputs("from");
    var blocks = k.integer("blocks");
    var length = k.integer("length");
    var run = k.integer("run");
    var group = k.integer("group");
    var steps = k.integer("steps");
    var kept = k.integer("kept");
    var writer = new ResultWriter(k, entries, result, dtype, x);
    var row = k.block().div(blocks);
    var at = k.block().minus(row.times(blocks)).times(THREADS).plus(k.thread());
    k.when(
        at.lt(length),
        () -> {
          var source = given.stream().map(pointer -> pointer.row(row, length)).toList();
          var entry = source.stream().map(pointer -> pointer.load(at)).toList();
          var own = at.div(run).times(run);
          var first = at.div(group).times(group);
          var end = first.plus(length.minus(first).min(group));
          var rank = k.variable(at.minus(own));
          k.loop(
              first,
              end,
              run,
              start ->
                  k.when(
                      start.ne(own),
                      () ->
                          rank.add(
                              before(
                                      k,
                                      entries,
                                      source,
                                      entry,
                                      start,
                                      start.plus(end.minus(start).min(run)),
                                      steps)
                                  .minus(start))));
          writer.store(rank.lt(kept), row, at.div(group).times(kept).plus(rank), entry);
        });
  }

  /** Returns the position of the first entry of a run that does not come before {@code entry}. */
  private static Int before(
      KernelBuilder k,
      Entries entries,
      List<GlobalPointer> source,
      List<Value> entry,
      Int start,
      Int end,
      Int steps) {
    var low = k.variable(start);
    var high = k.variable(end);
    k.loop(
        k.integer(0),
        steps,
        1,
        _ -> {
          var middle = low.plus(high.minus(low).div(2));
          var searching = low.lt(high);
          var before = entries.isBefore(Entries.load(source, searching, middle), entry);
          var lower = middle.plus(1).where(before, low);
          var upper = high.where(before, middle);
          low.set(lower.where(searching, low));
          high.set(upper.where(searching, high));
        });
    return low;
  }
}
