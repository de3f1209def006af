package dev.athanor.ops.quant;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import java.util.ArrayList;

/**
 * What a block of a kernel with one or more products knows before it begins. The kernel's
 * parameters are {@code a, m, k, groupShift} and for each product {@code weights, scales, zeros, c,
 * n}. The blocks of the grid's first dimension take the tiles of the first product, then those of
 * the next.
 */
final class ProjectionParameters {
  final GlobalPointer a;
  final Int m;
  final Int depth;
  final Int groupShift;
  final GlobalPointer weights;
  final GlobalPointer scales;
  final GlobalPointer zeros;
  final GlobalPointer c;
  final Int n;

  /** The first column of the block's tile. */
  final Int column;

  private record Product(
      GlobalPointer weights, GlobalPointer scales, GlobalPointer zeros, GlobalPointer c, Int n) {}

  /**
   * Declares the parameters and chooses the product that the block belongs to.
   *
   * @param columnsOfTile how many columns a block computes
   */
  ProjectionParameters(
      KernelBuilder k, Packing packing, DType in, DType out, int products, int columnsOfTile) {
    a = k.pointer("a", Problems.type(in));
    m = k.integer("m");
    depth = k.integer("k");
    groupShift = k.integer("groupShift");
    var all = new ArrayList<Product>();
    for (int i = 0; i < products; i++) {
      all.add(
          new Product(
              k.pointer("weights" + i, packing.element()),
              k.pointer("scales" + i, packing.scale()),
              k.pointer("zeros" + i, Type.U32),
              k.pointer("c" + i, Problems.type(out)),
              k.integer("n" + i)));
    }
    var own = all.getFirst();
    var tile = k.block();
    Int before = k.integer(0);
    for (int i = 1; i < products; i++) {
      var last = all.get(i - 1);
      var next = all.get(i);
      before = before.plus(last.n.plus(columnsOfTile - 1).div(columnsOfTile));
      var later = k.block().ge(before);
      own =
          new Product(
              next.weights.where(later, own.weights),
              next.scales.where(later, own.scales),
              next.zeros.where(later, own.zeros),
              next.c.where(later, own.c),
              next.n.where(later, own.n));
      tile = k.block().minus(before).where(later, tile);
    }
    weights = own.weights;
    scales = own.scales;
    zeros = own.zeros;
    c = own.c;
    n = own.n;
    column = tile.times(columnsOfTile);
  }
}
