package dev.athanor.ops.linear.quantized;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.quant.Problems;
import dev.athanor.ops.tile.Epilogue;
import java.util.ArrayList;
import java.util.Optional;
import java.util.function.BinaryOperator;

/**
 * The parameters of a kernel with one or more products: {@code a, m, k, groupShift}, {@code scale}
 * if the epilogue has one for the tensor, and for each product {@code weights, [scales], [zeros],
 * [bias], c, n}. The grid's first dimension enumerates the tiles of the first product, then those
 * of the next.
 */
final class ProjectionParameters {
  final GlobalPointer a;
  final Int m;
  final Int depth;
  final Int groupShift;
  final GlobalPointer weights;
  final GlobalPointer c;
  final Int n;

  /** The index of the block's tile in its product. */
  final Int tile;

  private final KernelBuilder k;
  private final Packing packing;
  private final Epilogue epilogue;

  private final Optional<GlobalPointer> tensorScale;
  private final Product product;

  private record Product(
      GlobalPointer weights,
      Optional<GlobalPointer> scales,
      Optional<GlobalPointer> zeros,
      Optional<GlobalPointer> bias,
      GlobalPointer c,
      Int n) {

    Product where(Predicate condition, Product other) {
      return new Product(
          weights.where(condition, other.weights),
          scales.map(pointer -> pointer.where(condition, other.scales.orElseThrow())),
          zeros.map(pointer -> pointer.where(condition, other.zeros.orElseThrow())),
          bias.map(pointer -> pointer.where(condition, other.bias.orElseThrow())),
          c.where(condition, other.c),
          n.where(condition, other.n));
    }
  }

  /**
   * Declares the parameters and selects the block's product.
   *
   * @param tiles computes the number of tiles along the grid's first dimension from a product's m
   *     and n
   */
  ProjectionParameters(
      KernelBuilder k,
      Packing packing,
      DType in,
      Epilogue epilogue,
      int products,
      BinaryOperator<Int> tiles) {
    this.k = k;
    this.packing = packing;
    this.epilogue = epilogue;
    a = k.input("a", Problems.type(in));
    m = k.integer("m");
    depth = k.integer("k");
    groupShift = k.integer("groupShift");
    tensorScale =
        epilogue.scale() == Epilogue.Scale.TENSOR
            ? Optional.of(k.input("scale", Type.F32))
            : Optional.empty();
    var all = new ArrayList<Product>();
    for (int i = 0; i < products; i++) {
      all.add(
          new Product(
              k.input("weights" + i, packing.element()),
              packing.hasScales()
                  ? Optional.of(k.input("scales" + i, packing.scale()))
                  : Optional.empty(),
              packing.hasZeros() ? Optional.of(k.input("zeros" + i, Type.U32)) : Optional.empty(),
              bias(i),
              k.pointer("c" + i, Problems.type(epilogue.out())),
              k.integer("n" + i)));
    }
    var own = all.getFirst();
    var number = k.block();
    Int before = k.integer(0);
    for (int i = 1; i < products; i++) {
      var last = all.get(i - 1);
      var next = all.get(i);
      before = before.plus(tiles.apply(m, last.n));
      var later = k.block().ge(before);
      own = next.where(later, own);
      number = k.block().minus(before).where(later, number);
    }
    weights = own.weights;
    product = own;
    c = own.c;
    n = own.n;
    tile = number;
  }

  private Optional<GlobalPointer> bias(int product) {
    return epilogue.bias().map(dtype -> k.input("bias" + product, Problems.type(dtype)));
  }

  /** Returns the separate scales of the block's product. */
  GlobalPointer scales() {
    return product.scales.orElseThrow();
  }

  /** Returns the zero points of the block's product. */
  GlobalPointer zeros() {
    return product.zeros.orElseThrow();
  }

  /** Returns the epilogue of the accumulators, which applies the scale if all weights share one. */
  Epilogue.Applied epilogue() {
    var scale = packing.scaled() ? tensorScale : Optional.of(scales());
    var factor = scale.map(pointer -> pointer.load(k.integer(0)).widen());
    return new Epilogue.Applied(epilogue, factor, Optional.empty(), Optional.empty(), product.bias);
  }
}
