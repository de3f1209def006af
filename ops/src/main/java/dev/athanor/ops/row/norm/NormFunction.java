package dev.athanor.ops.row.norm;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.ops.row.Chunk;
import dev.athanor.ops.row.Row;
import dev.athanor.ops.row.RowFunction;
import dev.athanor.ops.row.RowKernel;
import dev.athanor.ops.row.RowSchedule;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * {@code gamma · norm(x) + beta}, with a residual added before or after. The kernel's parameters
 * are {@code rows, n, x, residual, gamma, beta, y, sum, epsilon}, without the tensors that it does
 * not access. With weights of channels, {@code groups, channels, spatial} follow: the groups of an
 * image, the channels of a group and the elements of a channel. A row is then a group, and an
 * access does not cross channels.
 *
 * @param gamma whether the normalized values are scaled
 * @param beta whether an offset is added
 * @param ofChannels whether the weights belong to channels instead of columns
 */
public record NormFunction(
    Norm norm, Residual residual, boolean gamma, boolean beta, boolean ofChannels)
    implements RowFunction {

  /** Creates a function whose weights belong to columns. */
  public NormFunction(Norm norm, Residual residual, boolean gamma, boolean beta) {
    this(norm, residual, gamma, beta, false);
  }

  /**
   * Bytes of weights and residual that a thread loads at once. More would take registers and lower
   * the occupancy.
   */
  private static final int BYTES_AT_ONCE = 64;

  /**
   * The same for a large block; a multiprocessor holds two of them with 64 registers per thread.
   */
  private static final int BYTES_OF_LARGE_TEAM = 32;

  private static final int LARGE_TEAM = 512;

  /** The position of the residual. */
  public enum Residual {
    NONE,
    /** norm(x + residual); the sum is also written. */
    PRE,
    /** residual + norm(x). */
    POST
  }

  @Override
  public String name() {
    var word = norm.word() + weights() + (ofChannels ? "_of_channels" : "");
    return switch (residual) {
      case NONE -> word;
      case PRE -> "residual_%s_pre".formatted(word);
      case POST -> "residual_%s_post".formatted(word);
    };
  }

  /** Returns the weights in names; nothing if all that the norm takes are given. */
  private String weights() {
    if (gamma && beta == norm.shifts()) {
      return "";
    }
    return gamma ? "_gamma" : beta ? "_beta" : "_plain";
  }

  @Override
  public void write(KernelBuilder k, RowKernel kernel, RowSchedule rows) {
    var row = rows.row();
    var x = row.of(kernel.input(k, "x"));
    var other = given(residual != Residual.NONE, () -> row.of(kernel.input(k, "residual")));
    var scales = given(gamma, () -> kernel.weights(k, "gamma"));
    var offsets = given(beta, () -> kernel.weights(k, "beta"));
    var y = row.of(kernel.tensor(k, "y"));
    var sum = given(residual == Residual.PRE, () -> row.of(kernel.tensor(k, "sum")));
    var epsilon = k.real("epsilon", kernel.number());
    var weights = weights(k, row);

    var before = other.filter(_ -> residual == Residual.PRE);
    var after = other.filter(_ -> residual == Residual.POST);
    var values =
        row.read(
            row.inOrder(),
            chunk ->
                before.map(r -> sums(chunk.load(x), chunk.load(r))).orElseGet(() -> chunk.load(x)));
    var statistics = norm.of(row, values, epsilon);
    values.forEachWith(
        chunksAtOnce(kernel),
        (chunk, v) -> {
          // store before the weights take registers
          sum.ifPresent(to -> chunk.store(to, v));
          return Stream.concat(
                  Stream.of(scales, offsets)
                      .flatMap(Optional::stream)
                      .flatMap(tensor -> weights.load(chunk, tensor).stream()),
                  after.stream().flatMap(tensor -> chunk.load(tensor).stream()))
              .toList();
        },
        (chunk, v, others) -> {
          int n = chunk.elements();
          var affine = new ArrayList<Real>();
          for (int i = 0; i < n; i++) {
            affine.add(affine(statistics.apply(v.get(i)), others, n, i));
          }
          chunk.store(
              y,
              after.isPresent()
                  ? sums(affine, others.subList(others.size() - n, others.size()))
                  : affine);
        });
  }

  /** Loads the weights of the elements of a chunk. */
  @FunctionalInterface
  private interface Weights {
    List<Real> load(Chunk chunk, GlobalPointer tensor);
  }

  private Weights weights(KernelBuilder k, Row row) {
    if (!ofChannels) {
      return Chunk::load;
    }
    var groups = k.integer("groups");
    var channels = k.integer("channels");
    var spatial = k.integer("spatial");
    var first = row.index.rem(groups).times(channels);
    return (chunk, tensor) -> {
      var channel = first.plus(chunk.column(0).div(spatial));
      var weight = tensor.loadWhere(chunk.inside(), channel).widen();
      return Collections.nCopies(chunk.elements(), weight);
    };
  }

  private static <T> Optional<T> given(boolean given, Supplier<T> declare) {
    return given ? Optional.of(declare.get()) : Optional.empty();
  }

  /** Applies the weights, which come first among the others of a chunk of n elements. */
  private Real affine(Real normal, List<Real> others, int n, int i) {
    if (!gamma) {
      return beta ? normal.plus(others.get(i)) : normal;
    }
    var factor = others.get(i);
    return beta ? normal.fma(factor, others.get(n + i)) : normal.times(factor);
  }

  /** Returns the number of chunks whose weights are loaded at once. */
  private int chunksAtOnce(RowKernel kernel) {
    var tile = kernel.tile();
    int most = tile.team() < LARGE_TEAM ? BYTES_AT_ONCE : BYTES_OF_LARGE_TEAM;
    int bytes = ((gamma ? 1 : 0) + (beta ? 1 : 0)) * kernel.weights().bytes();
    if (residual == Residual.POST) {
      bytes += kernel.dtype().bytes();
    }
    return Math.max(1, most / Math.max(1, bytes * tile.access()));
  }

  private static List<Real> sums(List<Real> a, List<Real> b) {
    var sums = new ArrayList<Real>();
    for (int i = 0; i < a.size(); i++) {
      sums.add(a.get(i).plus(b.get(i)));
    }
    return sums;
  }
}
