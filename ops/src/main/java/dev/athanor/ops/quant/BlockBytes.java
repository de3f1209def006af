package dev.athanor.ops.quant;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import java.util.ArrayList;
import java.util.List;

/**
 * The bytes of a block of weights, in global or in shared memory, read in accesses as wide as its
 * alignment allows.
 */
public final class BlockBytes {

  private static final int MOST_BYTES = 16;

  /** How elements of a type are loaded, from byte {@code at + constant} of the block on. */
  private interface Loader {
    List<Value> load(Type type, int count, Int at, int constant);
  }

  private final KernelBuilder k;
  private final int alignment;
  private final Loader loader;

  private BlockBytes(KernelBuilder k, int alignment, Loader loader) {
    this.k = k;
    this.alignment = alignment;
    this.loader = loader;
  }

  /**
   * A block in global memory.
   *
   * @param start its first byte
   * @param alignment a power of two of which its address is a multiple, at least 2
   */
  public static BlockBytes global(KernelBuilder k, GlobalPointer start, int alignment) {
    return new BlockBytes(
        k,
        alignment,
        (type, count, at, constant) ->
            start
                .as(Type.U8)
                .plus(at.wide())
                .as(type)
                .load(count, k.integer(constant / type.bytes())));
  }

  /** A block in shared memory, from byte {@code start} of an array on. */
  public static BlockBytes shared(KernelBuilder k, SharedTile array, Int start, int alignment) {
    return new BlockBytes(
        k,
        alignment,
        (type, count, at, constant) ->
            array
                .at(start.plus(at).plus(constant), type, 1, count, count)
                .load(count, k.integer(0), k.integer(0)));
  }

  /** The f16 at a byte. */
  Real half(Int at, int constant) {
    return loader.load(Type.F16, 1, at, constant).getFirst().widen();
  }

  /** The f32 at a byte that is a multiple of 4. */
  Real single(Int at, int constant) {
    return loader.load(Type.F32, 1, at, constant).getFirst().widen();
  }

  /** The signed byte at a byte. */
  Real signedByte(Int at, int constant) {
    return loader.load(Type.S8, 1, at, constant).getFirst().widen();
  }

  /**
   * {@code bytes} bytes from {@code at + constant} on as words, zeros behind them.
   *
   * @param at a multiple of {@code step}
   * @param step a power of two
   */
  List<Int> words(Int at, int step, int constant, int bytes) {
    int lowestBit = constant == 0 ? MOST_BYTES : Integer.lowestOneBit(constant);
    int access =
        Math.min(Math.min(alignment, step), Math.min(lowestBit, Math.min(MOST_BYTES, bytes)));
    var words = new ArrayList<Int>();
    if (access < 2) {
      throw new IllegalArgumentException("blocks are read in halves of words at least");
    }
    if (access == 2) {
      for (int done = 0; done < bytes; done += 4) {
        var low = loader.load(Type.U16, 1, at, constant + done).getFirst();
        words.add(
            done + 2 < bytes
                ? k.pack(low, loader.load(Type.U16, 1, at, constant + done + 2).getFirst()).bits()
                : low.integer());
      }
      return words;
    }
    for (int done = 0; done < bytes; done += access) {
      loader
          .load(Type.U32, access / 4, at, constant + done)
          .forEach(word -> words.add(word.integer()));
    }
    return words;
  }
}
