package dev.athanor.ops.attention.warpgroup;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.LaneCoordinates;
import dev.athanor.engine.author.MatrixFragment;
import dev.athanor.engine.author.Mma;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.RegisterTile;
import dev.athanor.engine.author.RegisterTile.Layout;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.author.WarpRole;
import dev.athanor.engine.layout.Fragments;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.tile.EpilogueFunction;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * The registers of a warpgroup that {@code wgmma} reads and writes, for {@value WarpgroupTile#ROWS}
 * rows.
 *
 * @param type of factors: f16 or bf16
 */
public record WarpgroupRegisters(KernelBuilder k, Type type) {

  private static final int LANES = 4;

  /** Returns the types of products. */
  public Mma mma() {
    return type == Type.F16 ? Mma.F16 : Mma.BF16;
  }

  /** Returns zeros in the layout of accumulators. */
  public RegisterTile zeros(int columns) {
    var places =
        IntStream.range(0, columns / 8).boxed().flatMap(i -> Stream.of(8 * i, 8 * i + 1)).toList();
    var thread = k.thread().rem(WarpRole.GROUP);
    var at = new LaneCoordinates(Fragments.D_64X8, thread);
    return new RegisterTile(k, new Layout(at.row(), List.of(0, 8), at.column(), places, LANES));
  }

  /** Returns the accumulators of a product. */
  public static List<MatrixFragment> accumulators(RegisterTile registers) {
    return IntStream.range(0, registers.columns() / 2)
        .mapToObj(i ->
            new MatrixFragment(
                Stream.of(registers.get(0, 2 * i, 2), registers.get(1, 2 * i, 2))
                    .<Value>flatMap(List::stream)
                    .toList()))
        .toList();
  }

  /** Returns sums as left factors, rounded: a thread has the same elements of both. */
  public List<MatrixFragment> factors(RegisterTile sums) {
    var fragments = new ArrayList<MatrixFragment>();
    for (int i = 0; i < sums.columns(); i += 4) {
      fragments.add(
          MatrixFragment.of(
              pair(sums, 0, i), pair(sums, 1, i), pair(sums, 0, i + 2), pair(sums, 1, i + 2)));
    }
    return fragments;
  }

  private Value pair(RegisterTile sums, int row, int column) {
    // the first operand becomes the upper half
    return k.compute(
        Type.B32,
        "cvt.rn." + type.word() + "x2.f32",
        sums.get(row, column + 1),
        sums.get(row, column));
  }

  /** Rounds sums to a type. */
  public record Rounding(Type type) implements EpilogueFunction<Type> {

    @Override
    public Type row(Int row, Int m) {
      return type;
    }

    @Override
    public Type column(Int column, Int n) {
      return type;
    }

    @Override
    public Value finish(Value sum, Type row, Type column) {
      return ((Real) sum).to(type);
    }
  }
}
