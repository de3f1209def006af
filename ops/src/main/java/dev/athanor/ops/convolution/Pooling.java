package dev.athanor.ops.convolution;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Arguments;
import java.util.List;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.stream.IntStream;

/**
 * Reduces the elements of a window of each channel. The parameters of {@link Kind#MEAN} are the
 * positions {@code end0}, … after the last that counts along each dimension, that of {@link
 * Kind#MAXIMUM} is {@code indices} if it is indexed.
 *
 * @param type of x and y
 * @param padded whether a mean counts the positions in the padding
 * @param indexed whether to store the pixel of each maximum
 */
record Pooling(Kind kind, Type type, boolean padded, boolean indexed) implements WindowFunction {

  /** The output of the pixels of maxima. */
  static final String INDICES = "indices";

  /** The pixel of a maximum of no elements, or of −∞ alone. */
  static final int NONE = -1;

  /** A reduction of windows. */
  enum Kind {
    MAXIMUM("max"),
    MEAN("average");

    private final String text;

    Kind(String text) {
      this.text = text;
    }

    /** Returns the name in those of ops. */
    String text() {
      return text;
    }
  }

  @Override
  public String name() {
    return "pool_%s_%s%s%s"
        .formatted(kind.text, type.word(), padded ? "_padded" : "", indexed ? "_indices" : "");
  }

  private Type sum() {
    return type == Type.F64 ? Type.F64 : Type.F32;
  }

  /** Returns the arguments of the function. */
  Arguments arguments(List<Window> windows) {
    var all = indexed ? Arguments.NONE.outputs(INDICES) : Arguments.NONE;
    for (int i = 0; padded && i < windows.size(); i++) {
      var window = windows.get(i);
      all = all.with("end" + i, (int) (window.in() + window.after()));
    }
    return all;
  }

  @Override
  public OfElement declare(KernelBuilder k, int rank) {
    if (kind == Kind.MAXIMUM) {
      var indices =
          indexed ? Optional.of(k.pointer(INDICES, Type.S64)) : Optional.<GlobalPointer>empty();
      return element -> maximum(k, element, indices);
    }
    var ends = IntStream.range(0, padded ? rank : 0).mapToObj(i -> k.integer("end" + i)).toList();
    return element -> {
      var sum = k.variable(k.real(sum(), 0));
      var count = k.variable(k.integer(0));
      each(
          element,
          k,
          (x, _) -> {
            sum.set(sum.plus(x));
            count.add(k.integer(1));
          });
      var divisor = padded ? positions(element, k, ends) : count;
      return sum.over(divisor.real(sum())).to(type);
    };
  }

  private Value maximum(KernelBuilder k, Element element, Optional<GlobalPointer> indices) {
    var most = k.variable(k.real(sum(), Double.NEGATIVE_INFINITY));
    var pixelOfMost = indices.map(_ -> k.variable(k.integer(NONE)));
    each(
        element,
        k,
        (x, pixel) -> {
          var isMore = x.gt(most).or(x.isNan());
          most.set(x.where(isMore, most));
          pixelOfMost.ifPresent(at -> at.set(pixel.where(isMore, at)));
        });
    pixelOfMost.ifPresent(at -> indices.orElseThrow().store(element.index(), at.wide().value()));
    return most.to(type);
  }

  private void each(Element element, KernelBuilder k, BiConsumer<Real, Int> body) {
    element
        .windows()
        .taps(
            element.place(),
            false,
            (tap, pixel) ->
                body.accept(
                    element
                        .x()
                        .plus(pixel.times(element.pixelStride()).wide())
                        .load(k.integer(0))
                        .widen(),
                    pixel));
  }

  /** Returns the taps of the window that are in x or its padding. */
  private static Int positions(Element element, KernelBuilder k, List<Int> ends) {
    Int all = k.integer(1);
    for (int i = 0; i < ends.size(); i++) {
      var window = element.windows().dimensions().get(i);
      var rest = ends.get(i).minus(window.first(element.place().get(i)));
      var taps = rest.plus(window.dilation()).plus(-1).div(window.dilation());
      all = all.times(taps.min(window.kernel()));
    }
    return all;
  }
}
