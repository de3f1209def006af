package dev.athanor.ops.rank;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.Variant;
import dev.athanor.ops.map.Elements;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.BiConsumer;

/**
 * The kernel that chooses a token from all logits of a row, with one block per row.
 *
 * <p>Parameters: logits[B, V]; V; the reciprocal of the temperature; the logarithm of minP if it is
 * applied; the parameters of {@link TokenChoice}.
 *
 * @param vector logits per load: 4 if that divides V, else 1
 * @param counted whether there is a counter
 */
record SampleVariant(DType dtype, int vector, Mode mode, boolean counted) implements Variant {

  static final int THREADS = 512;

  /** How a token is chosen. */
  enum Mode {
    /** The greatest logit. */
    GREEDY,
    /** At random from all tokens. */
    ALL,
    /** At random from those with at least minP times the greatest probability. */
    MIN_P
  }

  /** Returns the variant for rows of a length. */
  static SampleVariant of(DType dtype, int length, Mode mode, boolean counted) {
    int vector = length % TokenChoice.WORDS == 0 ? TokenChoice.WORDS : 1;
    return new SampleVariant(dtype, vector, mode, counted && mode != Mode.GREEDY);
  }

  @Override
  public String name() {
    return "sample_%s_%s_%sv%d"
        .formatted(
            dtype.text(), mode.name().toLowerCase(Locale.ROOT), counted ? "counted_" : "", vector);
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(name(), THREADS, this::write);
  }

  private void write(KernelBuilder k) {
    var logits = k.input("logits", Elements.type(dtype));
    var length = k.integer("length");
    var scale = k.real("scale", Type.F32);
    var logMinP = mode == Mode.MIN_P ? k.real("logMinP", Type.F32) : k.real(Type.F32, 0);
    var choice = new TokenChoice(k, THREADS, mode != Mode.GREEDY, counted);
    var row = logits.row(k.block(), length);
    var cut = k.variable(k.real(Type.F32, Double.NEGATIVE_INFINITY));
    if (mode == Mode.MIN_P) {
      forEachGroup(
          k, row, length, (_, loaded) -> loaded.forEach(logit -> cut.set(cut.max(logit.number()))));
      var greatest =
          k.reduceBlock(List.of(cut), THREADS, Double.NEGATIVE_INFINITY, Real::max).getFirst();
      cut.set(greatest.times(scale).plus(logMinP));
    }
    forEachGroup(
        k,
        row,
        length,
        (group, loaded) -> {
          var noise = mode == Mode.GREEDY ? List.<Real>of() : choice.noise(group);
          for (int i = 0; i < loaded.size(); i++) {
            var logit = loaded.get(i);
            var scaled = mode == Mode.GREEDY ? logit.number() : logit.number().times(scale);
            var score = mode == Mode.GREEDY ? scaled : scaled.plus(noise.get(i));
            var inside = logit.index().lt(length);
            choice.consider(
                mode == Mode.MIN_P ? inside.and(scaled.lt(cut).not()) : inside,
                score,
                logit.index());
          }
        });
    choice.store();
  }

  /** A logit; −∞ beyond the end of the row. */
  private record Logit(Int index, Real number) {}

  /** Loads the logits of each group of four tokens. */
  private void forEachGroup(
      KernelBuilder k, GlobalPointer row, Int length, BiConsumer<Int, List<Logit>> body) {
    var elements = new Elements(k);
    k.loop(
        k.thread(),
        length.plus(TokenChoice.WORDS - 1).div(TokenChoice.WORDS),
        THREADS,
        group -> {
          var first = group.times(TokenChoice.WORDS);
          var loaded = new ArrayList<Logit>();
          var vectors = vector == 1 ? List.<Value>of() : row.load(TokenChoice.WORDS, first);
          for (int i = 0; i < TokenChoice.WORDS; i++) {
            var index = first.plus(i);
            if (vector > 1) {
              loaded.add(new Logit(index, (Real) elements.widen(dtype, vectors.get(i))));
              continue;
            }
            var inside = index.lt(length);
            var number = (Real) elements.widen(dtype, row.loadWhere(inside, index));
            var none = number.constant(Double.NEGATIVE_INFINITY);
            loaded.add(new Logit(index, number.where(inside, none)));
          }
          body.accept(group, loaded);
        });
  }
}
