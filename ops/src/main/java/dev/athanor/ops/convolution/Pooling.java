package dev.athanor.ops.convolution;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Arguments;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/**
 * Reduces the elements of a window of each channel. The parameters of {@link Kind#MEAN} are the
 * positions {@code end0}, … after the last that counts along each dimension.
 *
 * @param type of x and y
 * @param padded whether a mean counts the positions in the padding
 */
record Pooling(Kind kind, Type type, boolean padded) implements WindowFunction {

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
    return "pool_%s_%s%s".formatted(kind.text, type.word(), padded ? "_padded" : "");
  }

  private Type sum() {
    return type == Type.F64 ? Type.F64 : Type.F32;
  }

  /** Returns the arguments of the function. */
  Arguments arguments(List<Window> windows) {
    var all = Arguments.NONE;
    for (int i = 0; padded && i < windows.size(); i++) {
      var window = windows.get(i);
      all = all.with("end" + i, (int) (window.in() + window.after()));
    }
    return all;
  }

  @Override
  public OfElement declare(KernelBuilder k, int rank) {
    if (kind == Kind.MAXIMUM) {
      return element -> {
        var most = k.variable(k.real(sum(), Double.NEGATIVE_INFINITY));
        each(element, k, x -> most.set(x.where(x.gt(most).or(x.isNan()), most)));
        return most.to(type);
      };
    }
    var ends = IntStream.range(0, padded ? rank : 0).mapToObj(i -> k.integer("end" + i)).toList();
    return element -> {
      var sum = k.variable(k.real(sum(), 0));
      var count = k.variable(k.integer(0));
      each(
          element,
          k,
          x -> {
            sum.set(sum.plus(x));
            count.add(k.integer(1));
          });
      var divisor = padded ? positions(element, k, ends) : count;
      return sum.over(divisor.real(sum())).to(type);
    };
  }

  private void each(Element element, KernelBuilder k, Consumer<Real> body) {
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
                        .widen()));
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
