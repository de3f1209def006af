package dev.athanor.ops.recurrence;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Activation;
import dev.athanor.ops.DType;
import dev.athanor.ops.Variant;
import dev.athanor.ops.tile.Epilogue;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Convolves each channel of a sequence with its last elements. A team of threads computes a part of
 * a row, {@code vector} positions per thread at a time; block y is the index of the part. The first
 * part of a row is the only one that reads the state, and its first thread replaces the state when
 * all of its block have read it.
 *
 * <p>Parameters: x, weight, bias if there is one, y, next, rows, channels, length, span, taps.
 *
 * @param bias whether a bias is added
 * @param stateful whether next contains the previous elements; they are 0 otherwise
 * @param team threads per row, a power of two
 * @param vector positions that a thread reads and writes at once; divides the length
 * @param taps elements of a window, if the loop over them is unrolled; otherwise 0
 */
record CausalConvolutionVariant(
    DType dtype,
    Activation activation,
    boolean bias,
    boolean stateful,
    int team,
    int vector,
    int taps)
    implements Variant {

  static final int THREADS = 128;

  /** The greatest number of taps for which there is a kernel of its own. */
  static final int MOST_UNROLLED = 8;

  /** Returns the positions that a team computes at a time. */
  int positions() {
    return team * vector;
  }

  @Override
  public String name() {
    return "causal_convolution_%s%s_%s%s_t%d_v%d_%s"
        .formatted(
            dtype.text(),
            bias ? "_bias" : "",
            activation.text().replace('-', '_'),
            stateful ? "_state" : "",
            team,
            vector,
            taps > 0 ? "taps" + taps : "any");
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(name(), THREADS, k -> new Writer(k).write());
  }

  private final class Writer {
    private final KernelBuilder k;
    private final Type type = Epilogue.type(dtype);
    private final Type number = dtype == DType.F64 ? Type.F64 : Type.F32;
    private final GlobalPointer x;
    private final GlobalPointer weight;
    private final GlobalPointer y;
    private final GlobalPointer state;
    private final Int length;
    private final Int before;

    /** The row of this thread; a row that exists if this one does not. */
    private final Int row;

    private final Real added;

    /** The number of rows and whether this thread has one. */
    private final Int rows;

    private final Int ownRow;
    private final Int span;

    Writer(KernelBuilder k) {
      this.k = k;
      var allX = k.input("x", type);
      var weights = k.input("weight", type);
      var biases = bias ? List.of(k.input("bias", type)) : List.<GlobalPointer>of();
      var allY = k.pointer("y", type);
      var states = k.pointer("next", type);
      rows = k.integer("rows");
      var channels = k.integer("channels");
      length = k.integer("length");
      span = k.integer("span");
      var count = k.integer("taps");
      before = taps > 0 ? k.integer(taps - 1) : count.plus(-1);
      ownRow = k.block().times(THREADS / team).plus(k.thread().div(team));
      row = ownRow.min(rows.plus(-1));
      var channel = row.rem(channels);
      x = allX.row(row, length);
      y = allY.row(row, length);
      weight = weights.row(channel, before.plus(1));
      state = states.row(row, before);
      added = biases.isEmpty() ? k.real(number, 0) : biases.getFirst().load(channel).widen();
    }

    void write() {
      var exists = ownRow.lt(rows);
      var lane = k.thread().rem(team);
      var first = k.blockY().times(span);
      var end = length.minus(first).min(span).where(exists, k.integer(0));
      k.loop(
          lane.times(vector),
          end,
          positions(),
          at -> {
            var position = first.plus(at);
            var results = taps > 0 ? unrolled(position) : anyTaps(position);
            y.store(
                position, results.stream().map(each -> activation.apply(each).to(type)).toList());
          });
      k.barrier(); // all threads of the row have read the state
      k.when(exists.and(lane.eq(0)).and(first.eq(0)), this::replaceState);
    }

    /** Reads each element of x once. */
    private List<Real> unrolled(Int position) {
      var elements = new ArrayList<Real>();
      for (int i = 1 - taps; i < 0; i++) {
        elements.add(element(position.plus(i)));
      }
      x.load(vector, position).forEach(each -> elements.add(each.widen()));
      var factors =
          IntStream.range(0, taps).mapToObj(i -> weight.load(k.integer(i)).widen()).toList();
      var results = new ArrayList<Real>();
      for (int i = 0; i < vector; i++) {
        var sum = added;
        for (int tap = 0; tap < taps; tap++) {
          sum = factors.get(tap).fma(elements.get(i + tap), sum);
        }
        results.add(sum);
      }
      return results;
    }

    private List<Real> anyTaps(Int position) {
      var sums = new ArrayList<Real.Variable>();
      for (int i = 0; i < vector; i++) {
        sums.add(k.variable(added));
      }
      k.loop(
          k.integer(0),
          before.plus(1),
          1,
          tap -> {
            var factor = weight.load(tap).widen();
            for (int i = 0; i < vector; i++) {
              sums.get(i).addProduct(factor, element(position.plus(i).minus(before).plus(tap)));
            }
          });
      return List.copyOf(sums);
    }

    /** Returns the element at a position, which is in the state if it is negative. */
    private Real element(Int position) {
      var isGiven = position.ge(k.integer(0));
      var given = x.loadWhere(isGiven, position).widen();
      return stateful
          ? given.where(isGiven, state.loadWhere(isGiven.not(), position.plus(before)).widen())
          : given;
    }

    /**
     * Moves the last elements into the state, in an order that reads each before it is replaced.
     */
    private void replaceState() {
      k.loop(
          k.integer(0),
          before,
          1,
          i -> state.store(i, element(length.plus(i).minus(before)).to(type)));
    }
  }
}
