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
import java.util.Optional;

/**
 * The bytes of a block of weights in global or shared memory, read in the widest accesses that its
 * alignment allows.
 */
public final class BlockBytes {

  private static final int MOST_BYTES = 16;

  /** Loads elements of a type, starting at byte {@code at + constant} of the block. */
  private interface Loader {
    List<Value> load(Type type, int count, Int at, int constant);
  }

  private final KernelBuilder k;
  private final int alignment;
  private final Loader loader;

  /** The place of a block in shared memory, where the bytes around it may be read too. */
  private record Place(SharedTile array, Int start) {}

  private final Optional<Place> place;

  private BlockBytes(KernelBuilder k, int alignment, Loader loader, Optional<Place> place) {
    this.k = k;
    this.alignment = alignment;
    this.loader = loader;
    this.place = place;
  }

  /**
   * Returns a block in global memory.
   *
   * @param start first byte of the block
   * @param alignment alignment of its address in bytes: a power of two
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
                .load(count, k.integer(constant / type.bytes())),
        Optional.empty());
  }

  /**
   * Returns a block in shared memory that begins at byte {@code start} of an array, which is
   * aligned to 4 bytes and has at least 4 bytes after the last word that begins in the block.
   */
  public static BlockBytes shared(KernelBuilder k, SharedTile array, Int start, int alignment) {
    return new BlockBytes(
        k,
        alignment,
        (type, count, at, constant) ->
            array
                .at(start.plus(at).plus(constant), type, 1, count, count)
                .load(count, k.integer(0), k.integer(0)),
        Optional.of(new Place(array, start)));
  }

  /** Loads an f16. */
  Real half(Int at, int constant) {
    return loader.load(Type.F16, 1, at, constant).getFirst().widen();
  }

  /** Loads an f32, aligned to 4 bytes. */
  Real single(Int at, int constant) {
    return loader.load(Type.F32, 1, at, constant).getFirst().widen();
  }

  /** Loads a signed byte. */
  Real signedByte(Int at, int constant) {
    return loader.load(Type.S8, 1, at, constant).getFirst().widen();
  }

  /** Loads an unsigned byte. */
  Int unsignedByte(Int at, int constant) {
    return loader.load(Type.U8, 1, at, constant).getFirst().integer();
  }

  /**
   * Loads {@code bytes} bytes starting at {@code at + constant} as words; the last is
   * zero-extended.
   *
   * @param at a multiple of {@code step}
   * @param step a power of two
   */
  List<Int> words(Int at, int step, int constant, int bytes) {
    int lowestBit = constant == 0 ? MOST_BYTES : Integer.lowestOneBit(constant);
    int access =
        Math.min(Math.min(alignment, step), Math.min(lowestBit, Math.min(MOST_BYTES, bytes)));
    var words = new ArrayList<Int>();
    if (access == 1 && place.isPresent()) {
      var own = place.get();
      return unaligned(own.array, own.start.plus(at).plus(constant), bytes);
    }
    if (access == 1) {
      for (int done = 0; done < bytes; done += 4) {
        var word = unsignedByte(at, constant + done);
        for (int b = 1; b < Math.min(4, bytes - done); b++) {
          word = word.or(unsignedByte(at, constant + done + b).shl(8 * b));
        }
        words.add(word);
      }
      return words;
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

  /** Loads the aligned words that contain a number of whole words, and shifts them. */
  private List<Int> unaligned(SharedTile array, Int first, int bytes) {
    var selection = first.and(3).times(0x1111).plus(0x3210);
    var aligned = first.and(-4);
    var words = new ArrayList<Int>();
    var low = word(array, aligned);
    for (int done = 4; done <= bytes; done += 4) {
      var high = word(array, aligned.plus(done));
      words.add(Quants.permute(k, low, high, selection));
      low = high;
    }
    return words;
  }

  private Int word(SharedTile array, Int at) {
    return array.at(at, Type.U32, 1, 1, 1).load(1, k.integer(0), k.integer(0)).getFirst().integer();
  }
}
