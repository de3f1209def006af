package dev.athanor.ops.row;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.BinaryOperator;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * A row or a part of one, computed by a team of threads. A kernel reads it with {@link #read},
 * iterates over the values any number of times, and combines those of all threads with {@link
 * #sum}, {@link #max} or {@link #reduce}. The team of a row beyond the last one runs the same
 * instructions, but reads and writes nothing.
 */
public final class Row {
  private final KernelBuilder k;
  private final RowTile tile;
  private final Type number;
  private final Int count;
  private final Int begin;

  /** The index of the row. */
  public final Int index;

  /** The number of elements of the row. */
  public final Int n;

  /**
   * @param number type of arithmetic
   * @param count number of rows of the tensor
   * @param begin the first group of the part
   */
  Row(KernelBuilder k, RowTile tile, Type number, Int index, Int count, Int n, Int begin) {
    this.k = k;
    this.tile = tile;
    this.number = number;
    this.index = index;
    this.count = count;
    this.n = n;
    this.begin = begin;
  }

  /** Returns a pointer to the first element of this row in a tensor. */
  public GlobalPointer of(GlobalPointer tensor) {
    return tensor.row(index, n);
  }

  /**
   * The division of a row into groups of elements, each processed by one thread.
   *
   * @param count number of groups of a row
   * @param columns returns the first column of each run of a group
   * @param run number of elements of a run, which one access moves
   */
  public record Layout(Int count, Function<Int, List<Int>> columns, int run) {}

  /** Returns the layout whose groups are the consecutive elements of one access. */
  public Layout inOrder() {
    return new Layout(
        n.div(tile.access()), group -> List.of(group.times(tile.access())), tile.access());
  }

  /**
   * Reads the row. A row that fits stays in registers; a longer one is read again for each pass
   * over the values.
   *
   * @param make loads the values of a chunk and may compute with them; elements outside the row are
   *     loaded as 0, so a reduction with another neutral element needs {@link Chunk#orElse}. For a
   *     row that does not stay in registers, it runs once per pass
   */
  public Data read(Layout layout, Function<Chunk, List<Real>> make) {
    if (!tile.whole()) {
      return new Steps(layout, make);
    }
    var held = new ArrayList<Data.Held>();
    for (int i = 0; i < tile.vectors(); i++) {
      var chunk = chunk(layout, begin, i);
      held.add(new Data.Held(chunk, make.apply(chunk)));
    }
    return new Registers(held);
  }

  /** Copies elements to the same columns of another tensor. */
  public void copy(Layout layout, GlobalPointer from, GlobalPointer to) {
    new Steps(layout, chunk -> chunk.load(from)).forEach((chunk, x) -> chunk.store(to, x));
  }

  private Chunk chunk(Layout layout, Int first, int number) {
    var group = first.plus(k.thread().rem(tile.team())).plus(k.integer(number * tile.team()));
    // rows beyond the last one have no groups
    var inside = group.lt(layout.count.where(index.lt(count), k.integer(0)));
    return new Chunk(k, number, group, inside, layout.columns.apply(group), layout.run);
  }

  /**
   * Reduces each value over the threads of the team. All threads of the block must call it; all
   * receive the results.
   *
   * @param neutral the neutral element of {@code combine}
   * @param combine an associative and commutative function
   */
  public List<Real> reduce(List<Real> values, double neutral, BinaryOperator<Real> combine) {
    return tile.team() <= KernelBuilder.WARP
        ? values.stream().map(v -> k.reduceLanes(v, tile.team(), combine)).toList()
        : k.reduceBlock(values, tile.team(), neutral, combine);
  }

  /** Returns the sums of several values over the threads of the team; see {@link #reduce}. */
  public List<Real> sums(Real... values) {
    return reduce(List.of(values), 0, Real::plus);
  }

  /** Returns the sum of a value over the threads of the team; see {@link #reduce}. */
  public Real sum(Real value) {
    return sums(value).getFirst();
  }

  /** Returns the maximum of a value over the threads of the team; see {@link #reduce}. */
  public Real max(Real value) {
    return reduce(List.of(value), Double.NEGATIVE_INFINITY, Real::max).getFirst();
  }

  /** Returns whether this row is not beyond the last one. */
  public Predicate exists() {
    return index.lt(count);
  }

  /**
   * Loads one number of this row from its index; 0 for a row beyond the last one.
   *
   * @param numbers a tensor of one element for each row
   */
  public Value load(GlobalPointer numbers) {
    return numbers.loadWhere(exists(), index);
  }

  /**
   * Stores one number of this row at its index.
   *
   * @param results a tensor of one element for each row
   * @param value a value that is equal in all threads of the team
   */
  public void storeResult(GlobalPointer results, Real value) {
    var writes = k.thread().rem(tile.team()).eq(0).and(exists());
    results.storeWhere(writes, index, value.to(results.element()));
  }

  /** The values of a row, distributed over the threads of the team. */
  public sealed interface Data {

    /** A chunk and its values. */
    record Held(Chunk chunk, List<Real> values) {}

    /** Runs {@code body} for each chunk of the thread. */
    void forEach(BiConsumer<Chunk, List<Real>> body);

    /**
     * Runs {@code body} for each chunk of the thread, with other values of the same elements. The
     * others of a batch of chunks are loaded together, before the body stores anything of the
     * batch.
     *
     * @param chunks number of chunks of a batch
     * @param others loads the other values of a chunk; may first store the chunk's values
     */
    void forEachWith(int chunks, BiFunction<Chunk, List<Real>, List<Real>> others, PairedBody body);

    /** Processes the values of a chunk and other values of the same elements. */
    interface PairedBody {
      void accept(Chunk chunk, List<Real> values, List<Real> others);
    }

    private static void inBatches(
        List<Held> held,
        int chunks,
        BiFunction<Chunk, List<Real>, List<Real>> others,
        PairedBody body) {
      for (int first = 0; first < held.size(); first += chunks) {
        var batch = held.subList(first, Math.min(first + chunks, held.size()));
        var loaded = batch.stream().map(each -> others.apply(each.chunk(), each.values())).toList();
        for (int i = 0; i < batch.size(); i++) {
          body.accept(batch.get(i).chunk(), batch.get(i).values(), loaded.get(i));
        }
      }
    }

    /** Runs {@code body} for each chunk among the first {@link Row#atOnce} elements of the row. */
    void forFirst(BiConsumer<Chunk, List<Real>> body);

    /** Returns the values that a function computes from those of each chunk. */
    Data map(BiFunction<Chunk, List<Real>, List<Real>> to);

    /** Returns these values, followed in each chunk by the other values of the same elements. */
    Data and(Data others);

    private static List<Real> join(List<Real> first, List<Real> second) {
      return Stream.concat(first.stream(), second.stream()).toList();
    }
  }

  /** Returns the number of elements that {@link Data#forFirst} covers if they are in order. */
  public Int atOnce() {
    return tile.whole() ? n : n.min(k.integer(tile.team() * tile.vectors() * tile.access()));
  }

  /** Values that stay in registers. */
  private record Registers(List<Held> held) implements Data {

    @Override
    public void forEach(BiConsumer<Chunk, List<Real>> body) {
      held.forEach(each -> body.accept(each.chunk(), each.values()));
    }

    @Override
    public void forEachWith(
        int chunks, BiFunction<Chunk, List<Real>, List<Real>> others, PairedBody body) {
      Data.inBatches(held, chunks, others, body);
    }

    @Override
    public void forFirst(BiConsumer<Chunk, List<Real>> body) {
      forEach(body);
    }

    @Override
    public Data map(BiFunction<Chunk, List<Real>, List<Real>> to) {
      return new Registers(
          held.stream()
              .map(each -> new Held(each.chunk(), to.apply(each.chunk(), each.values())))
              .toList());
    }

    @Override
    public Data and(Data others) {
      var second = ((Registers) others).held;
      return new Registers(
          IntStream.range(0, held.size())
              .mapToObj(i ->
                  new Held(
                      held.get(i).chunk(), Data.join(held.get(i).values(), second.get(i).values())))
              .toList());
    }
  }

  /** Values that are read when needed, as many at once as the tile allows. */
  private final class Steps implements Data {
    private final Layout layout;
    private final Function<Chunk, List<Real>> make;

    Steps(Layout layout, Function<Chunk, List<Real>> make) {
      this.layout = layout;
      this.make = make;
    }

    @Override
    public void forEach(BiConsumer<Chunk, List<Real>> body) {
      loop(held -> held.forEach(each -> body.accept(each.chunk(), each.values())));
    }

    @Override
    public void forEachWith(
        int chunks, BiFunction<Chunk, List<Real>, List<Real>> others, PairedBody body) {
      loop(held -> Data.inBatches(held, chunks, others, body));
    }

    @Override
    public void forFirst(BiConsumer<Chunk, List<Real>> body) {
      step(k.integer(0)).forEach(each -> body.accept(each.chunk(), each.values()));
    }

    private void loop(Consumer<List<Held>> body) {
      k.loop(
          k.integer(0),
          layout.count,
          tile.team() * tile.vectors(),
          first -> body.accept(step(first)));
    }

    private List<Held> step(Int first) {
      var held = new ArrayList<Held>();
      for (int i = 0; i < tile.vectors(); i++) {
        var chunk = chunk(layout, first, i);
        held.add(new Held(chunk, make.apply(chunk)));
      }
      return held;
    }

    @Override
    public Data map(BiFunction<Chunk, List<Real>, List<Real>> to) {
      return new Steps(layout, chunk -> to.apply(chunk, make.apply(chunk)));
    }

    @Override
    public Data and(Data others) {
      var second = ((Steps) others).make;
      return map((chunk, values) -> Data.join(values, second.apply(chunk)));
    }
  }

  /** Declares a variable of the thread, of the type of arithmetic. */
  public Real.Variable variable(double initial) {
    return k.variable(k.real(number, initial));
  }
}
