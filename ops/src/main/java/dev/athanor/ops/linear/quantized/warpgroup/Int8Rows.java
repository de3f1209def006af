package dev.athanor.ops.linear.quantized.warpgroup;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.LaneCoordinates;
import dev.athanor.engine.author.MatrixFragment;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.author.WarpRole;
import dev.athanor.engine.device.TensorMap;
import dev.athanor.engine.device.TensorMap.Element;
import dev.athanor.engine.device.TensorMap.SwizzleMode;
import dev.athanor.engine.layout.Fragment;
import dev.athanor.engine.layout.Fragments;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.quant.PairedNibbles;
import java.util.ArrayList;
import java.util.List;

/**
 * Rows of int8 weights along N. {@code ldmatrix.trans} gives a lane the weights of two adjacent
 * columns of c in pairs of rows of K. {@code prmt} separates the columns, and the bytes of a pair
 * become bits of two numbers:
 *
 * <ul>
 *   <li>In f16, a byte with its sign bit flipped is the mantissa of 1152 plus the weight.
 *   <li>In bf16, whose mantissa has seven bits, the lower seven bits are that of 128 plus these
 *       bits. Alone in its place, the sign bit is the lowest of the exponent: it makes 256 of 128.
 *       The weight is the difference of the two.
 * </ul>
 *
 * <p>Both subtractions are exact.
 */
public record Int8Rows() implements StageWeights {

  /** The bytes that an instruction loads, of two steps along K. */
  private static final Fragment LOADED = Fragments.BYTE_PAIRS_32X16;

  @Override
  public int stageBytes() {
    return WeightTile.COLUMNS * WeightTile.DEPTH;
  }

  @Override
  public int readers() {
    return 1;
  }

  @Override
  public double instructions(Type element) {
    return element == Type.BF16 ? 8 : 6;
  }

  @Override
  public TensorMap tensor(int k, int n) {
    return TensorMap.of(
            Element.U8,
            List.of((long) n, (long) k),
            List.of(rowBytes(k, n)),
            List.of(WeightTile.COLUMNS, WeightTile.DEPTH))
        .withSwizzle(SwizzleMode.BYTES_128);
  }

  @Override
  public long rowBytes(int k, int n) {
    return n;
  }

  @Override
  public List<Int> at(Int depth, Int column) {
    return List.of(column, depth);
  }

  @Override
  public Lane lane(KernelBuilder k, Type element) {
    return new Lane(k, element);
  }

  /**
   * The part of a lane.
   *
   * @param element f16 or bf16
   */
  record Lane(KernelBuilder k, Type element) implements StageWeights.Lane {

    /** Returns the first column of the warp among those of the warpgroup. */
    private Int ofWarp() {
      return k.thread().rem(WarpRole.GROUP).div(KernelBuilder.WARP).times(LOADED.columns());
    }

    @Override
    public Int column() {
      return ofWarp().plus(new LaneCoordinates(LOADED.layout(), k.lane()).column());
    }

    @Override
    public int apart() {
      return 1;
    }

    @Override
    public List<Decoder> load(SharedTile shared, Int offset, Int group, List<Value> zeros) {
      var rows = shared.at(offset, Type.U8, WeightTile.DEPTH, WeightTile.COLUMNS);
      var first = group.times(WeightTile.OF_GROUP).plus(ofWarp());
      var decoders = new ArrayList<Decoder>();
      for (int from = 0; from < WeightTile.DEPTH; from += LOADED.rows()) {
        var words = rows.loadFragment(LOADED.layout(), k.lane(), k.integer(from), first);
        int perStep = StageWeights.STEP * words.size() / LOADED.rows();
        for (int word = 0; word < words.size(); word += perStep) {
          var ofStep = words.subList(word, word + perStep);
          decoders.add(() -> decode(ofStep));
        }
      }
      return decoders;
    }

    private MatrixFragment decode(List<Value> words) {
      var weights = new ArrayList<Value>();
      for (var word : words) {
        for (int column = 0; column < 2; column++) {
          weights.add(
              element == Type.BF16 ? bf16(word.integer(), column) : f16(word.integer(), column));
        }
      }
      return new MatrixFragment(weights);
    }

    private Value bf16(Int word, int column) {
      int exponents = 0x4300_4300;
      var pair = pair(word, word, column);
      return difference(pair.andXor(0x007F_007F, exponents), pair.andXor(0x0080_0080, exponents));
    }

    private Value f16(Int word, int column) {
      var flipped = word.xor(k.integer(0x8080_8080));
      var exponents = k.integer(0x6464_6464);
      return difference(pair(flipped, exponents, column), k.integer(0x6480_6480));
    }

    /** Returns the two bytes of a column, each below the lowest byte of {@code upper}. */
    private Int pair(Int word, Int upper, int column) {
      var selection = k.integer(0x4240 + 0x0101 * column);
      return k.compute(Type.B32, "prmt.b32", bits(word), bits(upper), selection.value()).integer();
    }

    private Value difference(Int pair, Int subtracted) {
      return PairedNibbles.difference(k, element, bits(pair), bits(subtracted));
    }

    private static Value bits(Int word) {
      return word.value().as(Type.B32);
    }
  }
}
