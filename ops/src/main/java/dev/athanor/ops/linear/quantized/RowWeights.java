package dev.athanor.ops.linear.quantized;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.ops.DType;
import dev.athanor.ops.quant.BlockBytes;
import dev.athanor.ops.quant.BlockFormat;
import dev.athanor.ops.quant.Int4Layout;
import dev.athanor.ops.quant.Run;
import java.util.List;
import java.util.Optional;

/** Weights in GGML blocks. A thread decodes several weights along K at once: a part of a column. */
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
    return packing instanceof Packing.Block(var dtype) ? BlockFormat.span(dtype) : Int4Layout.WORD;
  }

  /** Returns the starts of the runs of a part, relative to part 0, which begins a span. */
  List<Int> firsts(Int part) {
    var dtype = ((Packing.Block) packing).format();
    var first = BlockFormat.first(dtype, part, length);
    return BlockFormat.runs(dtype) == 1
        ? List.of(first)
        : List.of(first, first.plus(BlockFormat.apart(dtype)));
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
    int apart = packing instanceof Packing.Block(var dtype) ? BlockFormat.apart(dtype) : 0;
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
    int apart = packing instanceof Packing.Block(var dtype) ? BlockFormat.apart(dtype) : 0;
    return apart > 0 && apart < span ? 2 * length : Math.min(length, span);
  }

  /**
   * Returns the number of runs of a part that have an offset, for which the left operands are
   * summed.
   */
  static int sums(Packing packing) {
    return packing instanceof Packing.Block(var dtype) && BlockFormat.hasOffset(dtype)
        ? BlockFormat.runs(dtype)
        : 0;
  }

  /** Returns the weights of a part with runs of a length. */
  static int part(Packing packing, int length) {
    return packing instanceof Packing.Block(var dtype) ? length * BlockFormat.runs(dtype) : length;
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
      case Packing.AlongK _, Packing.AlongN _ -> throw new IllegalArgumentException(packing.text());
    };
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
