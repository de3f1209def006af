package dev.athanor.ops.linear;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Wide;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.tile.TileScheduler;
import java.util.Optional;

/**
 * The kernel parameters that locate the matrices of a product: {@code products, innerA, innerB,
 * outerA, outerB, strideC}. A launch covers two nested loops of a {@link Batch}. Strides are in
 * elements.
 */
public final class BatchParameters implements TileLocator {
  private final KernelBuilder k;
  private final Int products;
  private final Wide innerA;
  private final Wide innerB;
  private final Wide outerA;
  private final Wide outerB;
  private final Wide strideC;

  /** Declares the parameters of {@link #arguments}. */
  public BatchParameters(KernelBuilder k) {
    this.k = k;
    products = k.integer("products");
    innerA = k.wide("innerA");
    innerB = k.wide("innerB");
    outerA = k.wide("outerA");
    outerB = k.wide("outerB");
    strideC = k.wide("strideC");
  }

  /** The matrices of one product. */
  public record Matrices(GlobalPointer a, GlobalPointer b, GlobalPointer c) {}

  @Override
  public ProductTile locate(Matrices first, TileScheduler shape, Int m, Int n) {
    var tile = shape.tile(k, m, n);
    return new ProductTile(of(first, tile.matrix()), tile, m, Optional.empty());
  }

  /**
   * Returns the matrices of a product.
   *
   * @param first the matrices of the first product of the launch
   * @param product its index in the launch
   */
  public Matrices of(Matrices first, Int product) {
    var outer = product.div(products);
    var inner = product.minus(outer.times(products));
    return new Matrices(
        first.a.matrix(outer, outerA).matrix(inner, innerA),
        first.b.matrix(outer, outerB).matrix(inner, innerB),
        first.c.matrix(product, strideC));
  }

  /**
   * Returns the arguments.
   *
   * @param matrixA elements of a matrix of a
   * @param matrixB elements of a matrix of b
   * @param matrixC elements of a matrix of c
   */
  public static Arguments arguments(Batch batch, long matrixA, long matrixB, long matrixC) {
    var inner = batch.inner();
    var outer = batch.outer();
    return Arguments.NONE
        .with("products", Math.toIntExact(inner.count()))
        .with("innerA", inner.strideA() * matrixA)
        .with("innerB", inner.strideB() * matrixB)
        .with("outerA", outer.strideA() * matrixA)
        .with("outerB", outer.strideB() * matrixB)
        .with("strideC", matrixC);
  }
}
