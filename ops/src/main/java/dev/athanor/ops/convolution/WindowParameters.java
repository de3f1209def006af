package dev.athanor.ops.convolution;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.ops.Arguments;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The windows of a kernel. The parameters of spatial dimension {@code i} are {@code in, out,
 * kernel, stride, dilation} and {@code before}, followed by {@code i}.
 *
 * @param dimensions outermost first
 */
record WindowParameters(KernelBuilder k, List<Dimension> dimensions) {

  /** A window along one dimension. */
  record Dimension(Int in, Int out, Int kernel, Int stride, Int dilation, Int before) {

    /** Returns the position in the input of a tap of an output. */
    Int at(Int out, Int tap) {
      return first(out).plus(tap.times(dilation));
    }

    /** Returns the position in the input of the first tap of an output. */
    Int first(Int out) {
      return out.times(stride).minus(before);
    }
  }

  /** The body of a loop over taps. */
  @FunctionalInterface
  interface Body {

    /**
     * Adds the code for a tap.
     *
     * @param tap its index in the window
     * @param pixel the index of the pixel of the input that it reads
     */
    void accept(Int tap, Int pixel);
  }

  static WindowParameters declare(KernelBuilder k, int rank) {
    return new WindowParameters(
        k,
        IntStream.range(0, rank)
            .mapToObj(i ->
                new Dimension(
                    k.integer("in" + i),
                    k.integer("out" + i),
                    k.integer("kernel" + i),
                    k.integer("stride" + i),
                    k.integer("dilation" + i),
                    k.integer("before" + i)))
            .toList());
  }

  /** Returns the arguments of the parameters. */
  static Arguments arguments(List<Window> windows) {
    var all = Arguments.NONE;
    for (int i = 0; i < windows.size(); i++) {
      var window = windows.get(i);
      all =
          all.with("in" + i, (int) window.in())
              .with("out" + i, (int) window.out())
              .with("kernel" + i, (int) window.kernel())
              .with("stride" + i, (int) window.stride())
              .with("dilation" + i, (int) window.dilation())
              .with("before" + i, (int) window.before());
    }
    return all;
  }

  /** Returns the coordinates of a pixel of the output, outermost first. */
  List<Int> place(Int pixel) {
    var place = new ArrayList<Int>();
    var rest = pixel;
    for (int i = dimensions.size() - 1; i > 0; i--) {
      var extent = dimensions.get(i).out;
      var quotient = rest.div(extent);
      place.addFirst(rest.minus(quotient.times(extent)));
      rest = quotient;
    }
    place.addFirst(rest);
    return place;
  }

  /**
   * Emits loops over the taps of a window that are inside the input.
   *
   * @param place the coordinates of the output
   * @param transposed whether the roles of input and output are exchanged: a tap reads the inputs
   *     whose windows contain the output at that tap
   */
  void taps(List<Int> place, boolean transposed, Body body) {
    taps(0, k.integer(0), k.integer(0), place, transposed, body);
  }

  private void taps(int index, Int tap, Int pixel, List<Int> place, boolean transposed, Body body) {
    if (index == dimensions.size()) {
      body.accept(tap, pixel);
      return;
    }
    var dimension = dimensions.get(index);
    var own = place.get(index);
    k.loop(
        k.integer(0),
        dimension.kernel,
        1,
        t -> {
          Int at;
          Predicate inside;
          if (transposed) {
            var from = own.plus(dimension.before).minus(t.times(dimension.dilation));
            at = from.div(dimension.stride);
            inside =
                from.ge(k.integer(0))
                    .and(at.times(dimension.stride).eq(from))
                    .and(at.lt(dimension.in));
          } else {
            at = dimension.at(own, t);
            inside = at.ge(k.integer(0)).and(at.lt(dimension.in));
          }
          k.when(
              inside,
              () ->
                  taps(
                      index + 1,
                      tap.times(dimension.kernel).plus(t),
                      pixel.times(dimension.in).plus(at),
                      place,
                      transposed,
                      body));
        });
  }
}
