package dev.athanor.ops.linear.quantized;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.Variant;
import dev.athanor.ops.linear.quantized.warpgroup.PackedWords;
import dev.athanor.ops.linear.quantized.warpgroup.WeightProduct;
import dev.athanor.ops.linear.quantized.warpgroup.WeightTile;
import dev.athanor.ops.quant.ColumnWeights;
import dev.athanor.ops.quant.Int4Layout;
import dev.athanor.ops.tile.Epilogue;
import java.util.Optional;

/**
 * A {@link WeightProduct}. The kernel's parameters are the tensors {@code a, weights, c}, then
 * {@code m, n, k, groupShift, scales, [zeros], [bias]}.
 *
 * @param packing of four-bit weights
 * @param in f16 or bf16
 */
record WeightVariant(WeightTile tile, Packing packing, DType in, Epilogue epilogue)
    implements Variant {

  WeightProduct product() {
    return new WeightProduct(tile, new PackedWords(layout()), TensorProjection.mma(in));
  }

  private Int4Layout layout() {
    return packing instanceof Packing.AlongN(var format, _, _, _)
        ? format == ColumnWeights.Format.AWQ ? Int4Layout.AWQ : Int4Layout.GPTQ
        : Int4Layout.K_PACKED;
  }

  /** Returns a name such as {@code wgmma_gptq_zeros_bf16_bf16_bias_128x128x6_cluster2}. */
  @Override
  public String name() {
    return "wgmma_%s_%s%s_%s".formatted(packing.text(), in.text(), epilogue.name(), tile);
  }

  /** Returns the order of summation, which does not depend on the tile. */
  String order() {
    return "wgmma_%s_%s%s".formatted(packing.text(), in.text(), epilogue.name());
  }

  @Override
  public Kernel build() {
    return KernelBuilder.buildCluster(name(), tile.threads(), tile.cluster(), this::write);
  }

  private void write(KernelBuilder k) {
    var a = k.tensor("a");
    var weights = k.tensor("weights");
    var c = k.tensor("c");
    var m = k.integer("m");
    var n = k.integer("n");
    var depth = k.integer("k");
    var groupShift = k.integer("groupShift");
    var scales = k.input("scales", packing.scale());
    boolean lessOne = packing instanceof Packing.AlongN along && along.lessOne();
    product()
        .write(
            k,
            new WeightProduct.Matrices(
                a,
                weights,
                c,
                Epilogue.type(epilogue.out()),
                m,
                n,
                depth,
                scales,
                packing.hasZeros() ? Optional.of(k.input("zeros", Type.U32)) : Optional.empty(),
                lessOne ? 1 : 0,
                groupShift),
            epilogue.declare(k));
  }
}
