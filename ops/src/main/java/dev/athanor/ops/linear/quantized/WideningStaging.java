package dev.athanor.ops.linear.quantized;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.Value;
import dev.athanor.ops.tile.Stage;
import dev.athanor.ops.tile.Staging;
import java.util.ArrayList;
import java.util.List;

/**
 * Brings stages of the left matrix to shared memory as f32. K is a multiple of 8, and beyond it the
 * stage becomes zero; rows beyond the last are the last again, and are not stored.
 */
record WideningStaging(
    KernelBuilder k,
    SharedTile shared,
    Stage stage,
    ProjectionParameters problem,
    Int firstRow,
    int threads)
    implements Staging {

  private static final int CHUNK = 8;
  private static final int STORED = 4;

  @Override
  public Runnable fill(Int offset, Int depth) {
    var to = stage.at(shared, offset);
    int across = stage.depth() / CHUNK;
    List<Runnable> stores = new ArrayList<>();
    for (int piece = 0; piece < stage.extent() * across; piece += threads) {
      var index = k.thread().plus(piece);
      var row = index.div(across);
      var column = index.rem(across).times(CHUNK);
      var source = problem.a.row(firstRow.plus(row).min(problem.m.plus(-1)), problem.depth);
      var inK = depth.plus(column);
      var values =
          source.loadWhere(inK.lt(problem.depth), CHUNK, inK).stream().map(Value::widen).toList();
      stores.add(() -> store(to, row, column, values));
    }
    return () -> stores.forEach(Runnable::run);
  }

  private static void store(SharedTile to, Int row, Int column, List<Real> values) {
    for (int i = 0; i < CHUNK; i += STORED) {
      to.store(row, column.plus(i), values.subList(i, i + STORED));
    }
  }
}
