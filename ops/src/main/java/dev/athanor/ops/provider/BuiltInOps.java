package dev.athanor.ops.provider;

import dev.athanor.ops.Op;
import dev.athanor.ops.OpProvider;
import dev.athanor.ops.attention.backward.AttentionBackward;
import dev.athanor.ops.attention.decode.AttentionDecode;
import dev.athanor.ops.attention.decode.CacheAppend;
import dev.athanor.ops.attention.prefill.Attention;
import dev.athanor.ops.convolution.ConvolutionOp;
import dev.athanor.ops.convolution.PoolOp;
import dev.athanor.ops.convolution.ResizeOp;
import dev.athanor.ops.expression.ExpressionOps;
import dev.athanor.ops.indexing.IndexingOps;
import dev.athanor.ops.linear.dense.GroupedMatmul;
import dev.athanor.ops.linear.dense.LayerNormLinear;
import dev.athanor.ops.linear.dense.Matmul;
import dev.athanor.ops.linear.dense.MatmulBackward;
import dev.athanor.ops.linear.dense.MatmulFp8;
import dev.athanor.ops.linear.dense.MatmulInt8;
import dev.athanor.ops.linear.gemv.Gemv;
import dev.athanor.ops.linear.quantized.MatmulFp4;
import dev.athanor.ops.linear.quantized.MatmulGguf;
import dev.athanor.ops.linear.quantized.MatmulInt4;
import dev.athanor.ops.linear.quantized.QkvProject;
import dev.athanor.ops.map.ElementwiseOps;
import dev.athanor.ops.move.BlockOp;
import dev.athanor.ops.move.ConcatOp;
import dev.athanor.ops.move.ExpandOp;
import dev.athanor.ops.move.FlipOp;
import dev.athanor.ops.move.PadOp;
import dev.athanor.ops.move.PermuteOp;
import dev.athanor.ops.move.RollOp;
import dev.athanor.ops.move.SliceOp;
import dev.athanor.ops.move.SplitOp;
import dev.athanor.ops.move.TileOp;
import dev.athanor.ops.move.TransposeOp;
import dev.athanor.ops.move.TriangleOp;
import dev.athanor.ops.move.UpdateOp;
import dev.athanor.ops.optimizer.AdamW;
import dev.athanor.ops.quant.Dequantize;
import dev.athanor.ops.quant.QuantizeBlocks;
import dev.athanor.ops.quant.QuantizeOp;
import dev.athanor.ops.rank.RankOps;
import dev.athanor.ops.recurrence.CausalConvolutionOp;
import dev.athanor.ops.recurrence.LinearAttentionOp;
import dev.athanor.ops.reduce.ReduceOps;
import dev.athanor.ops.row.norm.GroupNormOp;
import dev.athanor.ops.row.norm.Norm;
import dev.athanor.ops.row.norm.NormBackwardOp;
import dev.athanor.ops.row.norm.NormOp;
import dev.athanor.ops.row.rope.NormRopeOp;
import dev.athanor.ops.row.rope.RopeOp;
import dev.athanor.ops.row.softmax.CrossEntropy;
import dev.athanor.ops.row.softmax.Softmax;
import dev.athanor.ops.row.softmax.SoftmaxBackward;
import java.util.List;
import java.util.stream.Stream;

/** The provider of the built-in ops. */
public final class BuiltInOps implements OpProvider {

  private static final List<Op> LINEAR =
      List.of(
          new Matmul(),
          new GroupedMatmul(),
          new MatmulFp8(),
          new MatmulInt8(),
          new MatmulBackward(),
          new Gemv(),
          new LayerNormLinear(),
          new MatmulGguf(),
          new MatmulInt4(),
          new MatmulFp4(),
          new QkvProject(false),
          new QkvProject(true));

  private static final List<Op> QUANT =
      List.of(new Dequantize(), QuantizeOp.int8(), QuantizeOp.fp8(), new QuantizeBlocks());

  private static final List<Op> ATTENTION =
      List.of(new Attention(), new AttentionBackward(), new AttentionDecode(), new CacheAppend());

  private static final List<Op> ROW =
      List.of(
          new Softmax(false),
          new Softmax(true),
          new SoftmaxBackward(),
          new CrossEntropy(false),
          new CrossEntropy(true),
          new NormOp(Norm.LAYER, false),
          new NormOp(Norm.RMS, false),
          new NormOp(Norm.LAYER, true),
          new NormOp(Norm.RMS, true),
          new GroupNormOp(),
          new NormBackwardOp(Norm.LAYER),
          new NormBackwardOp(Norm.RMS),
          new RopeOp(),
          new NormRopeOp());

  private static final List<Op> OPTIMIZER = List.of(new AdamW());

  private static final List<Op> CONVOLUTION =
      List.of(new ConvolutionOp(false), new ConvolutionOp(true), new ResizeOp());

  private static final List<Op> RECURRENCE =
      List.of(new CausalConvolutionOp(), new LinearAttentionOp());

  private static final List<Op> MOVE =
      List.of(
          new TransposeOp(),
          new PermuteOp(),
          new ConcatOp(),
          new SplitOp(),
          new SliceOp(),
          new PadOp(),
          new TileOp(),
          new ExpandOp(),
          new RollOp(),
          new FlipOp(),
          new TriangleOp(),
          new UpdateOp(),
          new BlockOp(true),
          new BlockOp(false));

  @Override
  public List<Op> ops() {
    return Stream.of(
            LINEAR,
            QUANT,
            ATTENTION,
            ROW,
            OPTIMIZER,
            CONVOLUTION,
            RECURRENCE,
            PoolOp.all(),
            ElementwiseOps.all(),
            ExpressionOps.all(),
            MOVE,
            IndexingOps.all(),
            ReduceOps.all(),
            RankOps.all())
        .flatMap(List::stream)
        .toList();
  }
}
