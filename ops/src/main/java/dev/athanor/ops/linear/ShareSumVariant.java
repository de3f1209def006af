package dev.athanor.ops.linear;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.Variant;
import dev.athanor.ops.tile.Epilogue;
import dev.athanor.ops.tile.Operand;
import dev.athanor.ops.tile.SplitVariant.Total;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * The second launch of split-K products whose partial sums are laid out as c. It adds them in a
 * fixed order and applies the epilogue. Parameters: {@code sums, c, count, n, shares} and those of
 * the epilogue. Each share has {@code count} sums.
 *
 * <p>The warps of a block take the shares in turn, so that many shares of a small product are read
 * in parallel, and add their totals in shared memory.
 *
 * @param sum the type of the sums: f32, f64 or s32
 * @param access bytes per store to c
 */
public record ShareSumVariant(Type sum, Epilogue epilogue, int access) implements Variant {

  private static final int WARPS = 8;
  private static final int VECTOR_BYTES = 16;

  /** Loads in flight per thread. */
  private static final int UNROLL = 4;

  /** Returns the kernel for matrices of c with {@code n} columns. */
  public static ShareSumVariant of(Epilogue epilogue, int n) {
    return of(epilogue.sum(), epilogue, n);
  }

  /** Returns the kernel for sums of a type and matrices of c with {@code n} columns. */
  public static ShareSumVariant of(Type sum, Epilogue epilogue, int n) {
    return new ShareSumVariant(sum, epilogue, Operand.access(n, epilogue.out()));
  }

  /**
   * Returns the dependent launch.
   *
   * @param count elements of c
   * @param n columns of c
   * @param alpha see {@link Epilogue#arguments}
   */
  public Step step(Slot sums, Slot c, int count, int n, int shares, double alpha) {
    var arguments =
        epilogue
            .arguments(alpha)
            .with("sums", sums)
            .with("c", c)
            .with("count", count)
            .with("n", n)
            .with("shares", shares);
    int blocks = Math.ceilDiv(count, KernelBuilder.WARP * elements());
    return new Step(this, Dim3.of(blocks), WARPS * KernelBuilder.WARP, 0, arguments).asDependent();
  }

  /** Returns the number of dependent loads of a thread. */
  public static int rounds(int shares) {
    return Math.ceilDiv(shares, WARPS * UNROLL);
  }

  /** Returns the bytes of the workspace for the partial sums. */
  public static long workspaceBytes(Epilogue epilogue, long count, int shares) {
    return count * shares * epilogue.sum().bytes();
  }

  /** Returns the number of adjacent elements of c that a thread computes. */
  private int elements() {
    return Math.min(access / epilogue.out().bytes(), VECTOR_BYTES / sum.bytes());
  }

  /** A thread's partial sums of one share. */
  private record Share(List<Value> sums) {}

  /** Returns a name such as {@code share_sum_f32_bias_c16}. */
  @Override
  public String name() {
    return "share_sum%s%s_c%d".formatted(sum == Type.S32 ? "_s32" : "", epilogue.name(), access);
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(name(), WARPS * KernelBuilder.WARP, this::write);
  }

  private void write(KernelBuilder k) {
    var sums = k.pointer("sums", sum);
    var c = k.pointer("c", Epilogue.type(epilogue.out()));
    var count = k.integer("count");
    var n = k.integer("n");
    var shares = k.integer("shares");
    var applied = epilogue.declare(k);
    k.awaitPreviousGrid();

    int elements = elements();
    var index = k.block().times(KernelBuilder.WARP).plus(k.lane()).times(elements);
    var inside = index.lt(count);
    var totals = Stream.generate(() -> Total.of(k, sum)).limit(elements).toList();
    k.loop(
        k.warp(),
        shares,
        WARPS * UNROLL,
        first -> {
          var loaded = new ArrayList<Share>();
          for (int i = 0; i < UNROLL; i++) {
            var share = first.plus(i * WARPS);
            var source = sums.row(share, count);
            var there = inside.and(share.lt(shares));
            loaded.add(new Share(source.loadWhere(there, elements, index)));
          }
          for (var share : loaded) {
            for (int i = 0; i < elements; i++) {
              totals.get(i).add().accept(share.sums.get(i));
            }
          }
        });
    int columns = KernelBuilder.WARP * elements;
    var ofWarps = k.shared(sum, WARPS, columns, columns);
    var own = k.lane().times(elements);
    ofWarps.store(k.warp(), own, totals.stream().map(Total::now).toList());
    k.barrier();
    k.when(
        k.warp().eq(0).and(inside),
        () -> {
          var all = Stream.generate(() -> Total.of(k, sum)).limit(elements).toList();
          for (int warp = 0; warp < WARPS; warp++) {
            var more = ofWarps.load(elements, k.integer(warp), own);
            for (int i = 0; i < elements; i++) {
              all.get(i).add().accept(more.get(i));
            }
          }
          var row =
              applied.rows().isPresent()
                  ? applied.row(index.div(n), count.div(n))
                  : applied.row(k.integer(0), k.integer(1));
          c.store(index, finish(applied, all, row, index.rem(n), n));
        });
  }

  private static List<Value> finish(
      Epilogue.Applied applied, List<Total> sums, Epilogue.Line row, Int column, Int n) {
    var results = new ArrayList<Value>();
    for (int i = 0; i < sums.size(); i++) {
      results.add(applied.finish(sums.get(i).now(), row, applied.column(column.plus(i), n)));
    }
    return results;
  }
}
