package dev.athanor.ops.rank;

import static dev.athanor.engine.author.KernelBuilder.WARP;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import java.util.ArrayList;
import java.util.List;

/**
 * The choice of the token with the greatest score in the row of a block. Parameters: seed[] or [B]
 * and counter[] or [B], of those that the kernel reads, each followed by the distance between the
 * elements of two rows; token[B].
 */
final class TokenChoice {

  /** Random words of one call of the generator, which are those of consecutive tokens. */
  static final int WORDS = 4;

  private final KernelBuilder k;
  private final int threads;
  private final Entries entries;
  private final List<Int> key;
  private final List<Int> counter;
  private final GlobalPointer token;
  private final Value.Variable best;

  /**
   * Declares the parameters.
   *
   * @param seeded whether the scores have random terms
   * @param counted whether there is a counter; otherwise it is 0
   */
  TokenChoice(KernelBuilder k, int threads, boolean seeded, boolean counted) {
    this.k = k;
    this.threads = threads;
    entries = new Entries(k, true);
    var zeros = List.of(k.integer(0), k.integer(0));
    key = seeded ? words("seed") : zeros;
    counter = seeded && counted ? words("counter") : zeros;
    token = k.pointer("token", Type.S64);
    best = k.variable(entries.last().getFirst());
  }

  /** Loads the low and the high word of a number of the row. */
  private List<Int> words(String name) {
    var numbers = k.input(name, Type.S64);
    var stride = k.integer(name + "Stride");
    return numbers.as(Type.S32).row(k.block(), stride.times(2)).load(2, k.integer(0)).stream()
        .map(Value::integer)
        .toList();
  }

  /** Returns the random terms of the tokens {@code WORDS · group} and following. */
  List<Real> noise(Int group) {
    return words(group).stream().map(word -> ExactMath.gumbel(k, word)).toList();
  }

  /** Returns the random term of a token. */
  Real noiseOf(Int index) {
    var words = words(index.div(WORDS));
    var place = index.rem(WORDS);
    var word = words.getFirst();
    for (int i = 1; i < WORDS; i++) {
      word = words.get(i).where(place.eq(i), word);
    }
    return ExactMath.gumbel(k, word);
  }

  private List<Int> words(Int group) {
    var position = new ArrayList<>(List.of(group, k.integer(0)));
    position.addAll(counter);
    return Philox.words(k, position, key);
  }

  /** Considers a token where the condition holds. Of equal scores, the least index wins. */
  void consider(Predicate condition, Real score, Int index) {
    var entry = entries.of(DType.F32, score, index, k.integer(-1)).getFirst().wide();
    best.set(entry.min(best.wide()).where(condition, best.wide()).value());
  }

  /** Stores the best token that a thread of the block considered. All threads must participate. */
  void store() {
    var warps = threads / WARP;
    var ofWarp = best.wide();
    for (int distance = WARP / 2; distance > 0; distance /= 2) {
      ofWarp = ofWarp.min(ofWarp.value().fromLaneXor(distance).wide());
    }
    var parts = k.shared(Type.S64, 1, warps, warps);
    parts.store(k.integer(0), k.warp(), ofWarp.value());
    k.barrier();
    k.when(
        k.thread().eq(0),
        () -> {
          for (int warp = 0; warp < warps; warp++) {
            var part = parts.load(k.integer(0), k.integer(warp)).wide();
            best.set(best.wide().min(part).value());
          }
          token.store(k.block(), entries.index(List.of(best)).wide().value());
        });
  }
}
