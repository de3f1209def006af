package dev.athanor.engine.layout;

import dev.athanor.engine.layout.Dimensions.Dimension;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;

/**
 * A linear map over F2 from input dimensions, such as lane and element, to output dimensions, such
 * as row and column ("Linear Layouts", arXiv 2505.23819). Each bit of an input coordinate has a
 * basis: the bits of the output coordinates that it flips. The image of an input is the XOR of the
 * bases of its bits.
 *
 * <p>An extent need not be a power of two. It then limits the coordinates of its dimension, as for
 * a matrix of 24 columns: copies of a layout side by side may be of any number.
 *
 * @param bases the packed image of each bit of the packed inputs, the lowest bit first
 */
public record LinearLayout(Dimensions inputs, Dimensions outputs, List<Integer> bases) {

  private static final int BANKS_BYTES = 128;
  private static final int WORD = 4;

  /**
   * Checks the number of the bases and the range of the images.
   *
   * @throws IllegalArgumentException if an image is outside of the outputs
   */
  public LinearLayout {
    bases = List.copyOf(bases);
    if (bases.size() != inputs.bits()) {
      throw new IllegalArgumentException(
          "%s has %d bits, got %d bases".formatted(inputs, inputs.bits(), bases.size()));
    }
    for (int basis : bases) {
      if (basis >>> outputs.bits() != 0) {
        throw new IllegalArgumentException(
            "the basis %d is outside of %s".formatted(basis, outputs));
      }
    }
    if (!outputs.arePowersOfTwo()) {
      for (int i = 0; i < inputs.size(); i++) {
        int image = apply(bases, inputs.packed(i));
        if (!outputs.contains(image)) {
          throw new IllegalArgumentException(
              "%s is mapped to %s, outside of %s"
                  .formatted(inputs.text(inputs.packed(i)), outputs.text(image), outputs));
        }
      }
    }
  }

  /** Returns the layout that maps each coordinate of an axis to the same one of another axis. */
  public static LinearLayout of(Axis input, Axis output, int extent) {
    var from = Dimensions.of(input, extent);
    var bits = IntStream.range(0, from.bits()).map(bit -> 1 << bit).boxed().toList();
    return new LinearLayout(from, Dimensions.of(output, extent), bits);
  }

  /** Returns the packed image of packed inputs. */
  public int apply(int input) {
    return apply(bases, input);
  }

  private static int apply(List<Integer> bases, int input) {
    int image = 0;
    for (int left = input; left != 0; left &= left - 1) {
      image ^= bases.get(Integer.numberOfTrailingZeros(left));
    }
    return image;
  }

  /** Returns one coordinate of the image of some inputs; others are 0. */
  public int apply(Axis output, Map<Axis, Integer> coordinates) {
    return outputs.coordinate(output, apply(inputs.pack(coordinates)));
  }

  /** Returns what the bits of an input contribute to an output, the lowest bit first. */
  public List<Integer> bases(Axis input, Axis output) {
    return bases(input).stream().map(basis -> outputs.coordinate(output, basis)).toList();
  }

  private List<Integer> bases(Axis input) {
    int first = inputs.offset(input);
    return bases.subList(first, first + inputs.bits(input));
  }

  /**
   * Returns the number of the image of each input, by the number of the input. Points are numbered
   * with the first dimension fastest; this is row-major order for the outputs column and row.
   */
  public int[] table() {
    return IntStream.range(0, inputs.size())
        .map(i -> outputs.number(apply(inputs.packed(i))))
        .toArray();
  }

  /**
   * Returns this layout followed by another.
   *
   * @throws IllegalArgumentException if the inputs of {@code next} are not the outputs of this
   */
  public LinearLayout then(LinearLayout next) {
    if (!outputs.equals(next.inputs)) {
      throw new IllegalArgumentException(
          "a layout with the outputs %s cannot precede one with the inputs %s"
              .formatted(outputs, next.inputs));
    }
    return new LinearLayout(inputs, next.outputs, bases.stream().map(next::apply).toList());
  }

  /**
   * Returns the inverse, by Gaussian elimination.
   *
   * @throws IllegalArgumentException if this is not a bijection
   */
  public LinearLayout inverse() {
    if (inputs.size() != outputs.size() || inputs.bits() != outputs.bits()) {
      throw new IllegalArgumentException(
          "not a bijection: %d points of %s are mapped to %d of %s"
              .formatted(inputs.size(), inputs, outputs.size(), outputs));
    }
    int count = bases.size();
    // an image and, above it, the input that it is the image of
    long[] pairs =
        IntStream.range(0, count).mapToLong(i -> 1L << (32 + i) | bases.get(i)).toArray();
    int rank = eliminate(pairs);
    if (rank < count) {
      throw new IllegalArgumentException(
          "not a bijection: %s has the same image as %s"
              .formatted(inputs.text((int) (pairs[rank] >>> 32)), inputs.text(0)));
    }
    return new LinearLayout(
        outputs, inputs, Arrays.stream(pairs).mapToObj(pair -> (int) (pair >>> 32)).toList());
  }

  /**
   * Brings the lower 32 bits of rows into reduced form, the lowest bit in the first row, and
   * returns their rank.
   */
  private static int eliminate(long[] rows) {
    int rank = 0;
    for (int bit = 0; bit < 32; bit++) {
      int pivot = rank;
      while (pivot < rows.length && (rows[pivot] >>> bit & 1) == 0) {
        pivot++;
      }
      if (pivot == rows.length) {
        continue;
      }
      long row = rows[pivot];
      rows[pivot] = rows[rank];
      rows[rank] = row;
      for (int i = 0; i < rows.length; i++) {
        if (i != rank && (rows[i] >>> bit & 1) != 0) {
          rows[i] ^= row;
        }
      }
      rank++;
    }
    return rank;
  }

  /**
   * Returns copies of this layout side by side, arranged by {@code outer}: the upper part of each
   * coordinate selects the copy. Inputs and outputs that only {@code outer} has follow the others.
   *
   * @throws IllegalArgumentException if a dimension to be extended is not a power of two
   */
  public LinearLayout times(LinearLayout outer) {
    var from = product(inputs, outer.inputs);
    var to = product(outputs, outer.outputs);
    var all = new ArrayList<Integer>();
    for (var input : from.all()) {
      if (inputs.has(input.axis())) {
        bases(input.axis()).forEach(basis -> all.add(repack(basis, outputs, to, _ -> 0)));
      }
      if (outer.inputs.has(input.axis())) {
        outer
            .bases(input.axis())
            .forEach(basis -> all.add(repack(basis, outer.outputs, to, outputs::bits)));
      }
    }
    return new LinearLayout(from, to, all);
  }

  /** Returns copies of this layout that follow each other along an input and an output. */
  public LinearLayout times(Axis input, Axis output, int copies) {
    return times(of(input, output, copies));
  }

  private static Dimensions product(Dimensions inner, Dimensions outer) {
    var all = new ArrayList<Dimension>();
    for (var each : inner.all()) {
      int copies = outer.extent(each.axis());
      if (copies > 1 && Integer.bitCount(each.extent()) != 1) {
        throw new IllegalArgumentException(
            "cannot extend %s, which is not a power of two; make it the last factor"
                .formatted(each));
      }
      all.add(new Dimension(each.axis(), each.extent() * copies));
    }
    outer.all().stream().filter(each -> !inner.has(each.axis())).forEach(all::add);
    return new Dimensions(all);
  }

  /** The bits by which the coordinate of an axis is shifted. */
  @FunctionalInterface
  private interface Shift {
    int of(Axis axis);
  }

  /** Packs coordinates for other dimensions, shifted to the left; negative shifts drop bits. */
  private static int repack(int packed, Dimensions from, Dimensions to, Shift shift) {
    int image = 0;
    for (var each : from.all()) {
      int coordinate = from.coordinate(each.axis(), packed);
      int by = shift.of(each.axis());
      image |= (by < 0 ? coordinate >>> -by : coordinate << by) << to.offset(each.axis());
    }
    return image;
  }

  /**
   * Returns the arrangement of tiles that this layout consists of: {@code outer} where {@code
   * tile.times(outer)} has the bases of this. It is empty if there is none.
   */
  public Optional<LinearLayout> dividedBy(LinearLayout tile) {
    if (!divides(tile.inputs, inputs) || !divides(tile.outputs, outputs)) {
      return Optional.empty();
    }
    var from = quotient(inputs, tile.inputs);
    var to = quotient(outputs, tile.outputs);
    var upper = new ArrayList<Integer>();
    for (var input : inputs.all()) {
      bases(input.axis()).stream()
          .skip(tile.inputs.bits(input.axis()))
          .forEach(
              basis -> upper.add(repack(basis, outputs, to, axis -> -tile.outputs.bits(axis))));
    }
    var outer = new LinearLayout(from, to, upper);
    return tile.times(outer).reordered(inputs.axes(), outputs.axes()).equals(this)
        ? Optional.of(outer)
        : Optional.empty();
  }

  private static boolean divides(Dimensions tile, Dimensions whole) {
    return tile.all().stream()
        .allMatch(each ->
            whole.has(each.axis())
                && whole.extent(each.axis()) % each.extent() == 0
                && (Integer.bitCount(each.extent()) == 1
                    || whole.extent(each.axis()) == each.extent()));
  }

  private static Dimensions quotient(Dimensions whole, Dimensions tile) {
    return new Dimensions(
        whole.all().stream()
            .map(each -> new Dimension(each.axis(), each.extent() / tile.extent(each.axis())))
            .toList());
  }

  /** Returns the number of consecutive input coordinates that stay consecutive in an output. */
  public int contiguous(Axis input, Axis output) {
    int count = 1;
    while (dividedBy(of(input, output, 2 * count)).isPresent()) {
      count *= 2;
    }
    return count;
  }

  /**
   * Returns this layout with its dimensions in another order.
   *
   * @throws IllegalArgumentException if the axes are others
   */
  public LinearLayout reordered(List<Axis> newInputs, List<Axis> newOutputs) {
    var from = inputs.reordered(newInputs);
    var to = outputs.reordered(newOutputs);
    var all = new ArrayList<Integer>();
    for (var input : newInputs) {
      bases(input).forEach(basis -> all.add(repack(basis, outputs, to, _ -> 0)));
    }
    return new LinearLayout(from, to, all);
  }

  /** Returns this layout with other names of axes. */
  public LinearLayout renamed(UnaryOperator<Axis> names) {
    return new LinearLayout(inputs.renamed(names), outputs.renamed(names), bases);
  }

  /** Returns this layout with rows as columns and columns as rows, in their order. */
  public LinearLayout transposed() {
    return renamed(axis ->
            switch (axis) {
              case ROW -> Axis.COLUMN;
              case COLUMN -> Axis.ROW;
              default -> axis;
            })
        .reordered(inputs.axes(), outputs.axes());
  }

  /**
   * Returns this layout with an input divided into two.
   *
   * @param extent a power of two that divides the extent of the input
   * @param upper the axis of the quotient
   */
  public LinearLayout split(Axis input, int extent, Axis upper) {
    return new LinearLayout(inputs.split(input, extent, upper), outputs, bases);
  }

  /**
   * Returns the most wavefronts that one phase of a warp's access to shared memory takes; 1 without
   * bank conflicts. A phase accesses the 128 bytes of all banks once if it can. The addresses of
   * its lanes form a linear space, and so do their banks: the words that share a bank are the
   * kernel of the map from one to the other.
   *
   * @param bytes accessed by each lane, 1 to 16
   * @throws IllegalArgumentException if this is not from lanes to bytes
   */
  public int bankConflicts(int bytes) {
    int unit = Math.max(WORD, bytes);
    int banks = BANKS_BYTES / unit;
    var units =
        bases(Axis.LANE, Axis.BYTE).stream()
            .limit(Integer.numberOfTrailingZeros(banks))
            .mapToLong(address -> address / unit)
            .toArray();
    int rank = eliminate(units.clone());
    return 1 << (rank - eliminate(Arrays.stream(units).map(each -> each % banks).toArray()));
  }

  /** Returns the dimensions and the bases, one per line. */
  @Override
  public String toString() {
    var text = new StringBuilder("%s -> %s".formatted(inputs, outputs));
    for (int i = 0; i < bases.size(); i++) {
      text.append("\n%s -> %s".formatted(inputs.flips(1 << i), outputs.flips(bases.get(i))));
    }
    return text.toString();
  }
}
