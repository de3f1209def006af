package dev.athanor.ops.linear.gemv;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.ops.Variant;
import dev.athanor.ops.linear.Product;

/**
 * Adds the sums of the parts of K, in their order, and finishes the product. Parameters: {@code
 * parts, y, outputs, splits, strideSplit, strideY, columnStep} and those of the epilogue; the parts
 * have the outputs of one product behind those of the other.
 */
record GemvSumVariant(Product product) implements Variant {

  static final int THREADS = 256;

  @Override
  public String name() {
    return product.name("gemv", "sum");
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(name(), THREADS, this::write);
  }

  private void write(KernelBuilder k) {
    var parts = k.input("parts", product.sumType());
    var y = k.pointer("y", product.outType());
    var outputs = k.integer("outputs");
    var splits = k.integer("splits");
    var strideSplit = k.wide("strideSplit");
    var strideY = k.wide("strideY");
    var columnStep = k.integer("columnStep");
    var epilogue = product.epilogue().declare(k);

    var blocks = outputs.plus(THREADS - 1).div(THREADS);
    var number = k.block().div(blocks);
    var output = k.block().minus(number.times(blocks)).times(THREADS).plus(k.thread());
    var own = parts.matrix(number, strideY);
    k.when(
        output.lt(outputs),
        () -> {
          var sum = k.variable(k.real(product.sumType(), 0));
          k.loop(
              k.integer(0),
              splits,
              1,
              split -> sum.add(own.matrix(split, strideSplit).load(output).widen()));
          y.matrix(number, strideY)
              .store(output, GemvVariant.finish(k, epilogue, sum, output, columnStep, outputs));
        });
  }
}
