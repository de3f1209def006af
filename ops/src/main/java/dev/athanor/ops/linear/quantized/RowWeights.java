package dev.athanor.ops.linear.quantized;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.quant.BlockBytes;
import dev.athanor.ops.quant.BlockFormat;
import dev.athanor.ops.quant.Fp4Format;
import dev.athanor.ops.quant.Int4Layout;
import dev.athanor.ops.quant.Run;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Weights in GGML blocks, or E2M1 weights. A thread decodes several weights along K at once: a part
 * of a column.
 */
final class RowWeights {

  private final KernelBuilder k;
  private final ProjectionParameters problem;
  private final Packing packing;
  private final int length;
  private final Optional<BlockFormat> format;

  /**
   * Describes the weights of a block's product.
   *
   * @param length of a run, see {@link BlockFormat#longestRun}
   * @param raised see {@link BlockFormat}
   */
  RowWeights(
      KernelBuilder k, ProjectionParameters problem, Packing packing, int length, boolean raised) {
    this.k = k;
    this.problem = problem;
    this.packing = packing;
    this.length = length;
    this.format =
        packing instanceof Packing.Block(var dtype)
            ? Optional.of(new BlockFormat(k, dtype, raised))
            : Optional.empty();
  }

  /** Returns the smallest number of consecutive weights along K that consists of whole parts. */
  static int span(Packing packing) {
    return packing.parts().map(BlockFormat::span).orElse(Int4Layout.WORD);
  }

  /** Returns the starts of the runs of a part, relative to part 0, which begins a span. */
  List<Int> firsts(Int part) {
    var dtype = packing.parts().orElseThrow();
    var first = BlockFormat.first(dtype, part, length);
    return BlockFormat.runs(dtype) == 1
        ? List.of(first)
        : List.of(first, first.plus(BlockFormat.apart(dtype)));
  }

  /** Returns the distance in weights between the runs of a part; 0 if there is one run. */
  static int apart(Packing packing) {
    return packing.parts().map(BlockFormat::apart).orElse(0);
  }

  /**
   * The position of a weight.
   *
   * @param within index in the part
   */
  record Place(Int part, Int within) {}

  /**
   * Returns the position of weight {@code element}; the following weights of its run are adjacent.
   */
  static Place place(Packing packing, Int element, int length) {
    int apart = apart(packing);
    if (apart == 0) {
      return new Place(element.div(length), element.rem(length));
    }
    var inFirsts = element.div(2 * apart).times(apart).plus(element.rem(apart));
    var run = element.div(apart).rem(2);
    return new Place(inFirsts.div(length), run.times(length).plus(inFirsts.rem(length)));
  }

  /**
   * Returns how many of {@code span} consecutive weights along K, from the first of a part on,
   * belong to that part.
   */
  static int together(Packing packing, int length, int span) {
    int apart = apart(packing);
    return apart > 0 && apart < span ? 2 * length : Math.min(length, span);
  }

  /**
   * Returns the number of runs of a part that have an offset, for which the left operands are
   * summed.
   */
  static int sums(Packing packing) {
    return packing.parts().filter(BlockFormat::hasOffset).map(BlockFormat::runs).orElse(0);
  }

  /** Returns the weights of a part with runs of a length. */
  static int part(Packing packing, int length) {
    return length * packing.parts().map(BlockFormat::runs).orElse(1);
  }

  /** Returns the bytes of consecutive parts that make up whole blocks. */
  static int bytes(DType format, int parts, int length) {
    return parts
        * part(new Packing.Block(format), length)
        / format.blockElements()
        * format.bytes();
  }

  /** Returns the number of parts of a row. */
  Int parts() {
    return problem.depth.div(part(packing, length));
  }

  /**
   * Decodes a part from global memory.
   *
   * @param row the column of the product
   */
  List<Run> decode(Int row, Int part) {
    return switch (packing) {
      case Packing.Block(var dtype) -> {
        int perBlock = BlockFormat.parts(dtype, length);
        var bytesOfRow = problem.depth.div(dtype.blockElements()).wide().times(dtype.bytes());
        var block = part.div(perBlock);
        var start =
            problem.weights.plus(bytesOfRow.times(row)).plus(block.wide().times(dtype.bytes()));
        var bytes = BlockBytes.global(k, start, BlockFormat.alignment(dtype));
        yield inRow(dtype, block, decoder().decode(bytes, part.rem(perBlock), length));
      }
      case Packing.Fp4(var fp4) -> decode(fp4, row, BlockFormat.first(DType.MXFP4, part, length));
      case Packing.AlongK _, Packing.AlongN _ -> throw new IllegalArgumentException(packing.text());
    };
  }

  /**
   * Decodes the runs of a part of E2M1 weights.
   *
   * @param first weight of the first run; that of the second is 16 later
   */
  private List<Run> decode(Fp4Format fp4, Int row, Int first) {
    int apart = apart(packing);
    var bytes = problem.weights.row(row, problem.depth.div(2)).plus(first.div(2).wide());
    var words = new ArrayList<Value>();
    if (length == apart) {
      words.addAll(bytes.as(Type.U32).load(2 * apart / Fp4Format.WORD, k.integer(0)));
    } else {
      for (int run = 0; run < 2; run++) {
        words.addAll(
            bytes
                .plus(k.wide(run * apart / 2))
                .as(Type.U32)
                .load(length / Fp4Format.WORD, k.integer(0)));
      }
    }
    var ofRow = problem.scales().row(row, problem.depth.div(fp4.group()));
    var scales = new ArrayList<Real>();
    if (fp4.group() == apart) {
      var both = ofRow.as(Type.U16).load(first.div(2 * apart)).integer();
      scales.add(fp4.halfScale(k, both.bits(0, 8)));
      scales.add(fp4.halfScale(k, both.bits(8, 8)));
    } else {
      var scale = fp4.halfScale(k, ofRow.load(first.div(fp4.group())).integer());
      scales.addAll(List.of(scale, scale));
    }
    var runs = new ArrayList<Run>();
    int perRun = words.size() / 2;
    for (int run = 0; run < 2; run++) {
      var quants = new ArrayList<Real>();
      words
          .subList(run * perRun, (run + 1) * perRun)
          .forEach(word -> quants.addAll(Fp4Format.doubled(k, word.integer())));
      runs.add(new Run(first.plus(run * apart), quants, scales.get(run), Optional.empty()));
    }
    return runs;
  }

  /**
   * Decodes a part of a row from consecutive parts in shared memory.
   *
   * @param start offset of the parts in the array, in bytes
   * @param first index of the first of these parts, which begins a block
   */
  List<Run> decode(SharedTile array, Int start, Int first, Int part) {
    var dtype = ((Packing.Block) packing).format();
    int perBlock = BlockFormat.parts(dtype, length);
    var within = part.minus(first);
    var from = start.plus(within.div(perBlock).times(dtype.bytes()));
    // 16-byte copies preserve the offset within 16 bytes of global memory
    var bytes = BlockBytes.shared(k, array, from, BlockFormat.alignment(dtype));
    var runs = decoder().decode(bytes, within.rem(perBlock), length);
    return inRow(dtype, part.div(perBlock), runs);
  }

  private BlockFormat decoder() {
    return format.orElseThrow();
  }

  private static List<Run> inRow(DType dtype, Int block, List<Run> runs) {
    var first = block.times(dtype.blockElements());
    return runs.stream()
        .map(run -> new Run(first.plus(run.first()), run.quants(), run.scale(), run.offset()))
        .toList();
  }
}
