package dev.athanor.ops.linear.steps;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Mma;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import java.util.ArrayList;
import java.util.List;

/**
 * Step 6, tensor cores: {@code mma.sync.m16n8k16} multiplies 16x16 of a and 16x8 of b in one
 * instruction of a warp: 2048 multiply-adds instead of the 32 of {@code fma}. Four warps compute
 * 32x32 of c each.
 *
 * <p>The lanes of a warp share the matrices; each holds a few elements as described in {@code
 * Fragments}. Here they load them one by one: two neighbors in a row of a as a word, but single
 * elements of b, whose neighbors along K are in different rows. The rows of a tile start in the
 * same banks, so that a read of eight rows needs four wavefronts: the profiler shows bank
 * conflicts.
 */
record TensorCores() implements LadderStep {

  static final int WARP_TILE = 32;
  static final int THREADS = TILE / WARP_TILE * (TILE / WARP_TILE) * KernelBuilder.WARP;

  @Override
  public String name() {
    return "tensor-cores";
  }

  @Override
  public String summary() {
    return "mma.sync, 2048 multiply-adds per instruction; its operands are loaded piece by piece.";
  }

  @Override
  public int threads() {
    return THREADS;
  }

  @Override
  public int sharedBytes() {
    return 2 * Stages.BYTES;
  }

  @Override
  public void write(KernelBuilder k, Matrices matrices) {
    var stages = new Stages(k, matrices, threads(), k.dynamicShared(), false);
    doubleBuffered(k, matrices, stages, TensorCores::fragmentOfA, TensorCores::fragmentOfB);
  }

  /**
   * Loads the registers of a lane for an operand.
   *
   * @see Mma
   */
  interface Fetch {

    /**
     * Returns the registers of 16 rows of a, or of 8 columns of b, at a depth.
     *
     * @param stage the byte at which the stage starts
     * @param from the first row or column in the tile
     */
    List<Value> fragment(KernelBuilder k, Stages stages, Int stage, Int from, int depth);
  }

  /** Writes the loop of step 5 with tensor cores. */
  static void doubleBuffered(
      KernelBuilder k, Matrices matrices, Stages stages, Fetch fetchA, Fetch fetchB) {
    var sums = Matrices.sums(k, WARP_TILE * WARP_TILE / KernelBuilder.WARP);
    var current = k.variable(k.integer(0));
    stages.copy(k.integer(0), k.integer(0));
    k.loop(
        k.integer(0),
        matrices.depth,
        DEPTH,
        depth -> {
          var other = current.xor(k.integer(Stages.BYTES));
          stages.copy(other, depth.plus(DEPTH));
          k.awaitCopies(1);
          k.barrier();
          multiply(k, stages, current, sums, fetchA, fetchB);
          k.barrier();
          current.set(other);
        });
    store(k, matrices, sums);
  }

  static void multiply(
      KernelBuilder k,
      Stages stages,
      Int stage,
      List<Real.Variable> sums,
      Fetch fetchA,
      Fetch fetchB) {
    for (int depth = 0; depth < DEPTH; depth += Mma.F16.k()) {
      var a = new ArrayList<List<Value>>();
      for (int i = 0; i < WARP_TILE; i += Mma.F16.m()) {
        a.add(fetchA.fragment(k, stages, stage, warpRow(k).plus(i), depth));
      }
      var b = new ArrayList<List<Value>>();
      for (int i = 0; i < WARP_TILE; i += Mma.F16.n()) {
        b.add(fetchB.fragment(k, stages, stage, warpColumn(k).plus(i), depth));
      }
      for (int i = 0; i < a.size() * b.size(); i++) {
        k.mma(Mma.F16, a.get(i / b.size()), b.get(i % b.size()), sums.subList(4 * i, 4 * i + 4));
      }
    }
  }

  /**
   * A lane has two neighbors in rows lane/4 and lane/4 + 8, at columns 2·(lane%4) and 8 further.
   */
  private static List<Value> fragmentOfA(
      KernelBuilder k, Stages stages, Int stage, Int row, int depth) {
    var words = stages.memory().at(stage, Type.B32, TILE, DEPTH / 2, DEPTH / 2);
    var registers = new ArrayList<Value>();
    for (int i = 0; i < 4; i++) {
      registers.add(
          words.load(
              row.plus(k.lane().div(4)).plus(i % 2 * 8),
              k.lane().rem(4).plus(depth / 2 + i / 2 * 4)));
    }
    return registers;
  }

  /** A lane has two neighbors along K in column lane/4, at rows 2·(lane%4) and 8 further. */
  private static List<Value> fragmentOfB(
      KernelBuilder k, Stages stages, Int stage, Int column, int depth) {
    var tile = stages.b(stage);
    var registers = new ArrayList<Value>();
    for (int i = 0; i < 2; i++) {
      var row = k.lane().rem(4).times(2).plus(depth + i * 8);
      var ofLane = column.plus(k.lane().div(4));
      registers.add(k.pack(tile.load(row, ofLane), tile.load(row.plus(1), ofLane)));
    }
    return registers;
  }

  /** Stores the sums. A lane has two neighbors in rows lane/4 and lane/4 + 8 of each 16x8 part. */
  static void store(KernelBuilder k, Matrices matrices, List<Real.Variable> sums) {
    int across = WARP_TILE / Mma.F16.n();
    for (int i = 0; i < sums.size(); i += 2) {
      int part = i / 4;
      var row =
          matrices
              .row
              .plus(warpRow(k))
              .plus(k.lane().div(4))
              .plus(part / across * 16 + i / 2 % 2 * 8);
      var column =
          matrices
              .column
              .plus(warpColumn(k))
              .plus(k.lane().rem(4).times(2))
              .plus(part % across * 8);
      matrices.c.row(row, matrices.n).store(column, sums.subList(i, i + 2));
    }
  }

  static Int warpRow(KernelBuilder k) {
    return k.warp().div(TILE / WARP_TILE).times(WARP_TILE);
  }

  static Int warpColumn(KernelBuilder k) {
    return k.warp().rem(TILE / WARP_TILE).times(WARP_TILE);
  }
}
