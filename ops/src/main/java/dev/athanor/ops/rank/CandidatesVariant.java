package dev.athanor.ops.rank;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.author.Wide;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Variant;
import java.util.List;
import java.util.function.BiConsumer;

/**
 * The kernel that chooses a token from the greatest logits of a row, with one block per row. Each
 * thread reads consecutive candidates.
 *
 * <p>Parameters: the sorted entries [B, length]; length, the candidates per thread; the reciprocal
 * of the temperature, the logarithm of minP; topP if it is applied; the parameters of {@link
 * TokenChoice}.
 *
 * @param cuts whether topP is applied
 * @param counted whether there is a counter
 */
record CandidatesVariant(boolean cuts, boolean counted) implements Variant {

  static final int THREADS = 256;

  @Override
  public String name() {
    return "sample_candidates%s%s".formatted(cuts ? "_top_p" : "", counted ? "_counted" : "");
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(name(), THREADS, k -> new Writer(k).write());
  }

  private final class Writer {
    private final KernelBuilder k;
    private final Entries entries;
    private final List<GlobalPointer> row;
    private final Int length;
    private final Int each;
    private final Real scale;
    private final Real logMinP;
    private final Real topP;
    private final TokenChoice choice;

    Writer(KernelBuilder k) {
      this.k = k;
      entries = new Entries(k, true);
      var candidates = entries.inputs("from");
      length = k.integer("length");
      each = k.integer("each");
      scale = k.real("scale", Type.F32);
      logMinP = k.real("logMinP", Type.F32);
      topP = cuts ? k.real("topP", Type.F64) : k.real(Type.F64, 1);
      choice = new TokenChoice(k, THREADS, true, counted);
      row = candidates.stream().map(pointer -> pointer.row(k.block(), length)).toList();
    }

    void write() {
      var greatest = scaled(load(k.integer(0)));
      var least = greatest.plus(logMinP);
      var before = k.variable(k.wide(0).value());
      var limit = k.variable(k.real(Type.F64, 0));
      if (cuts) {
        forEachCandidate((_, entry) -> add(before, weight(entry, greatest)));
        var sums = k.shared(Type.S64, 1, THREADS, THREADS);
        sums.store(k.integer(0), k.thread(), before);
        k.barrier();
        scan(sums, before, limit);
      }
      forEachCandidate((position, entry) -> {
        var scaled = scaled(entry);
        var kept = scaled.lt(least).not();
        if (cuts) {
          kept = kept.and(real(before).lt(limit).or(position.eq(0)));
          add(before, weight(entry, greatest));
        }
        var index = entries.index(entry);
        choice.consider(kept, scaled.plus(choice.noiseOf(index)), index);
      });
      choice.store();
    }

    /** Sets the weight before this thread's candidates, and topP times the weight of all. */
    private void scan(SharedTile sums, Value.Variable before, Real.Variable limit) {
      var all = k.variable(k.wide(0).value());
      k.loop(
          k.integer(0),
          k.integer(THREADS),
          1,
          thread -> {
            k.when(thread.eq(k.thread()), () -> before.set(all));
            add(all, sums.load(k.integer(0), thread).wide());
          });
      limit.set(topP.times(real(all)));
    }

    private static void add(Value.Variable sum, Wide weight) {
      sum.set(sum.wide().plus(weight).value());
    }

    private Real real(Value sum) {
      return (Real) k.compute(Type.F64, "cvt.rn.f64.s64", sum);
    }

    private Wide weight(List<Value> entry, Real greatest) {
      return ExactMath.weight(k, scaled(entry).minus(greatest));
    }

    private Real scaled(List<Value> entry) {
      return entries.number(entry, k.integer(-1)).times(scale);
    }

    private List<Value> load(Int position) {
      return row.stream().map(pointer -> pointer.load(position)).toList();
    }

    private void forEachCandidate(BiConsumer<Int, List<Value>> body) {
      var first = k.thread().times(each);
      k.loop(
          first,
          first.plus(each).min(length),
          1,
          position -> body.accept(position, load(position)));
    }
  }
}
