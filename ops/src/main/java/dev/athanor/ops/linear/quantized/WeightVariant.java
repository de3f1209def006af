package dev.athanor.ops.linear.quantized;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.Variant;
import dev.athanor.ops.linear.quantized.warpgroup.Int8Rows;
import dev.athanor.ops.linear.quantized.warpgroup.PackedWords;
import dev.athanor.ops.linear.quantized.warpgroup.StageWeights;
import dev.athanor.ops.linear.quantized.warpgroup.WeightProduct;
import dev.athanor.ops.linear.quantized.warpgroup.WeightProduct.Groups;
import dev.athanor.ops.linear.quantized.warpgroup.WeightTile;
import dev.athanor.ops.quant.Int4Layout;
import dev.athanor.ops.tile.Epilogue;
import java.util.Optional;

/**
 * A {@link WeightProduct}. The kernel's parameters are the tensors {@code a, weights, c}, then
 * {@code m, n, k}, then {@code groupShift, scales, [zeros]} of 4-bit weights or {@code scale} of
 * int8 weights, then {@code [bias]}.
 *
 * @param packing of 4-bit or int8 weights
 * @param in f16 or bf16
 */
record WeightVariant(WeightTile tile, Packing packing, DType in, Epilogue epilogue)
    implements Variant {

  /** Returns the variant of a problem; the scale of int8 weights is part of its epilogue. */
  static WeightVariant of(WeightTile tile, ProjectionProblem problem) {
    var packing = problem.packing();
    var epilogue = packing.scaled() ? problem.epilogue() : problem.epilogue().scaled();
    return new WeightVariant(tile, packing, problem.in(), epilogue);
  }

  WeightProduct product() {
    return new WeightProduct(tile, weights(), TensorProjection.mma(in));
  }

  private StageWeights weights() {
    return switch (packing) {
      case Packing.AlongN(var format, _, _, _) ->
          switch (format) {
            case INT8 -> new Int8Rows();
            case GPTQ -> new PackedWords(Int4Layout.GPTQ);
            case AWQ -> new PackedWords(Int4Layout.AWQ);
          };
      default -> new PackedWords(Int4Layout.K_PACKED);
    };
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
    var groups = packing.scaled() ? Optional.of(groups(k)) : Optional.<Groups>empty();
    var type = Epilogue.type(epilogue.out());
    product()
        .write(
            k,
            new WeightProduct.Matrices(a, weights, c, type, m, n, depth, groups),
            epilogue.declare(k));
  }

  private Groups groups(KernelBuilder k) {
    var shift = k.integer("groupShift");
    boolean lessOne = packing instanceof Packing.AlongN along && along.lessOne();
    return new Groups(
        k.input("scales", packing.scale()),
        packing.hasZeros() ? Optional.of(k.input("zeros", Type.U32)) : Optional.empty(),
        lessOne ? 1 : 0,
        shift);
  }
}
