package dev.athanor.ops.tile;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.MatrixFragment;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.SpecialRegister;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.Variant;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * The second launch of a split-K product: adds the partial sums in a fixed order and applies the
 * epilogue. The parameters are {@code sums, c, m, n, blocks, shares, strideC} and those of the
 * epilogue; {@code blocks} is the number of blocks that computed each share. A warp adds 16 rows of
 * the part of a tile that one warp computed.
 *
 * @param tile tile of the first launch
 * @param sum the type of the sums: f32 or s32
 * @param interleaving interleaving of the rows and columns of the sums
 * @param epilogue epilogue of the total sums
 * @param accessC bytes per store to c
 */
public record SplitVariant(
    TensorTile tile, Type sum, Interleaving interleaving, Epilogue epilogue, int accessC)
    implements Variant {

  private static final int WARPS = 4;
  private static final int REGISTERS = 4;

  /** Shares whose loads are in flight at once: ptxas unrolls the loop over shares by four. */
  private static final int UNROLL = 4;

  /**
   * Returns the dependent launch that adds the partial sums of the previous one.
   *
   * @param sums the partial sums
   * @param tiles number of tiles of all products
   * @param alpha see {@link Epilogue#arguments}
   */
  public Step step(Slot sums, Slot c, int m, int n, long tiles, int shares, double alpha) {
    var arguments =
        epilogue
            .arguments(alpha)
            .with("sums", sums)
            .with("c", c)
            .with("m", m)
            .with("n", n)
            .with("blocks", (int) tiles)
            .with("shares", shares)
            .with("strideC", (long) m * n);
    long blocks = Math.ceilDiv(tiles * warpsPerTile(), WARPS);
    return new Step(this, Dim3.of((int) blocks), threads(), sharedBytes(), arguments).asDependent();
  }

  private static int threads() {
    return WARPS * KernelBuilder.WARP;
  }

  private int warpsPerTile() {
    return tile.m() * tile.n() / (Stage.GROUP * tile.warpN());
  }

  /** Returns the dynamic shared memory of a block, in bytes. */
  private int sharedBytes() {
    return WARPS * SumStore.bytes(tile.warpN(), Epilogue.type(epilogue.out()));
  }

  /** Returns the number of successive loads of a thread that add a number of shares. */
  public static int rounds(int shares) {
    return Math.ceilDiv(shares, UNROLL);
  }

  /** Returns the bytes of memory for the sums of a number of blocks. */
  public static long workspaceBytes(TensorTile tile, long blocks) {
    return blocks * tile.m() * tile.n() * Integer.BYTES;
  }

  @Override
  public String name() {
    return "matmul_sum_%s_%s%s%s_c%d"
        .formatted(sum.word(), tile, interleaving.text(), epilogue.name(), accessC);
  }

  /**
   * Stores a warp's sums of a share of K: 16 bytes per lane for each 8 columns of each 16 rows. The
   * launch that adds them may begin then.
   */
  public static void keep(KernelBuilder k, GlobalPointer sums, TensorTile tile, WarpSums ofWarp) {
    var parts = ofWarp.parts();
    // the blocks of one share are consecutive
    var block = k.blockY().times(k.read(SpecialRegister.NCTAID_X)).plus(k.block());
    var own = sums.matrix(block, k.wide((long) tile.m() * tile.n()));
    for (int part = 0; part < parts.size(); part++) {
      var at = k.warp().times(parts.size()).plus(part).times(KernelBuilder.WARP).plus(k.lane());
      own.store(at.times(REGISTERS), parts.get(part).registers());
    }
    k.launchDependents();
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(name(), threads(), this::write);
  }

  private void write(KernelBuilder k) {
    var out = Epilogue.type(epilogue.out());
    var firstSum = k.pointer("sums", sum);
    var firstC = k.pointer("c", out);
    var m = k.integer("m");
    var n = k.integer("n");
    var blocks = k.integer("blocks");
    var shares = k.integer("shares");
    var strideC = k.wide("strideC");
    var applied = epilogue.declare(k);
    var shared = k.dynamicShared();
    k.awaitPreviousGrid();

    int perTile = warpsPerTile();
    int across = tile.warpN() / 8;
    var warp = k.block().times(WARPS).plus(k.warp());
    var block = warp.div(perTile);
    k.when(
        block.lt(blocks),
        () -> {
          var within = warp.rem(perTile);
          var totals =
              Stream.generate(() -> Total.of(k, sum)).limit((long) across * REGISTERS).toList();
          var at = within.times(across * KernelBuilder.WARP).plus(k.lane()).times(REGISTERS);
          k.loop(
              k.integer(0),
              shares,
              1,
              share -> {
                var from =
                    firstSum.matrix(
                        share.times(blocks).plus(block), k.wide((long) tile.m() * tile.n()));
                for (int part = 0; part < across; part++) {
                  var more = from.load(REGISTERS, at.plus(part * KernelBuilder.WARP * REGISTERS));
                  for (int i = 0; i < REGISTERS; i++) {
                    totals.get(part * REGISTERS + i).add.accept(more.get(i));
                  }
                }
              });
          var place = TileScheduler.of(tile).tile(k, block, m, n);
          // the numbering of the warps of the first launch, and of their rows
          int rows = tile.warpM() / Stage.GROUP;
          var ofTile = within.div(rows);
          int warpsAcross = tile.n() / tile.warpN();
          var row = ofTile.div(warpsAcross).times(tile.warpM()).plus(within.rem(rows).times(16));
          var column = ofTile.rem(warpsAcross).times(tile.warpN());
          SumStore.ofWarp(k, shared, tile.warpN(), out, interleaving)
              .store(
                  IntStream.range(0, across)
                      .mapToObj(
                          part -> totals.subList(part * REGISTERS, (part + 1) * REGISTERS).stream())
                      .map(part -> new MatrixFragment(part.map(Total::now).toList()))
                      .toList(),
                  place.row().plus(row),
                  place.column().plus(column),
                  new TensorMatmul.Destination(
                      firstC.matrix(place.matrix(), strideC), m, n, accessC),
                  applied);
        });
  }

  /** A sum in a variable. */
  public record Total(Supplier<Value> value, Consumer<Value> add) {

    /** Returns a sum of a type, f32, f64 or s32, that is zero. */
    public static Total of(KernelBuilder k, Type type) {
      if (type == Type.S32) {
        var sum = k.variable(k.integer(0));
        return new Total(sum::value, more -> sum.add(more.integer()));
      }
      var sum = k.variable(k.real(type, 0));
      return new Total(() -> sum, more -> sum.add(more.widen()));
    }

    /** Returns the sum at this point of the kernel. */
    public Value now() {
      return value.get();
    }
  }
}
