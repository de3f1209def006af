package dev.athanor.engine.emulator.memory;

import dev.athanor.engine.device.TensorMap;
import dev.athanor.engine.device.TensorMap.Element;
import dev.athanor.engine.device.TensorMap.Fill;
import dev.athanor.engine.device.TensorMap.Promotion;
import dev.athanor.engine.device.TensorMap.SwizzleMode;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * A tensor map in its 128 bytes. NVIDIA does not document the encoding; this is the emulator's own.
 * A field of zeros is unset, as in maps that kernels build in cleared memory. Values of fields are
 * those of {@code tensormap.replace} (PTX ISA 9.7.9.28).
 *
 * @param address of the first element
 */
public record EncodedTensorMap(TensorMap map, long address) {

  private static final Map<String, Integer> OFFSETS =
      Map.of(
          "global_address", 0,
          "rank", 8,
          "elemtype", 12,
          "global_dim", 16,
          "box_dim", 36,
          "element_stride", 56,
          "interleave_layout", 76,
          "swizzle_mode", 80,
          "fill_mode", 84,
          "global_stride", 88);

  /** The byte offset of a field; the elements of a list follow one another. */
  public static int offset(String field) {
    var offset = OFFSETS.get(field);
    if (offset == null) {
      throw new IllegalArgumentException("a tensor map has no field " + field);
    }
    return offset;
  }

  /** Writes a map into 128 bytes. */
  public static void encode(TensorMap map, long address, MemorySegment to) {
    to.fill((byte) 0);
    to.set(LaneAccess.LONG, offset("global_address"), address);
    int rank = map.sizes().size();
    to.set(LaneAccess.INT, offset("rank"), rank - 1);
    to.set(LaneAccess.INT, offset("elemtype"), index(Element.values(), map.element()));
    to.set(LaneAccess.INT, offset("swizzle_mode"), index(SwizzleMode.values(), map.swizzle()));
    to.set(LaneAccess.INT, offset("fill_mode"), index(Fill.values(), map.fill()));
    for (int i = 0; i < rank; i++) {
      to.set(LaneAccess.INT, offset("global_dim") + 4L * i, (int) (long) map.sizes().get(i));
      to.set(LaneAccess.INT, offset("box_dim") + 4L * i, map.box().get(i));
      to.set(LaneAccess.INT, offset("element_stride") + 4L * i, map.elementStrides().get(i));
      if (i > 0) {
        to.set(LaneAccess.LONG, offset("global_stride") + 8L * (i - 1), map.strides().get(i - 1));
      }
    }
  }

  /** The encoding of an enum constant: its index. */
  private static <E extends Enum<E>> int index(E[] all, E one) {
    return List.of(all).indexOf(one);
  }

  /**
   * Decodes a map.
   *
   * @throws IllegalArgumentException if a field has no valid value
   */
  public static EncodedTensorMap decode(MemorySegment from) {
    int rank = number(from, "rank", 5) + 1;
    number(from, "interleave_layout", 1);
    var sizes = new ArrayList<Long>();
    var strides = new ArrayList<Long>();
    var box = new ArrayList<Integer>();
    var elementStrides = new ArrayList<Integer>();
    for (int i = 0; i < rank; i++) {
      sizes.add(from.get(LaneAccess.INT, offset("global_dim") + 4L * i) & 0xFFFF_FFFFL);
      box.add(from.get(LaneAccess.INT, offset("box_dim") + 4L * i));
      elementStrides.add(from.get(LaneAccess.INT, offset("element_stride") + 4L * i));
      if (i > 0) {
        strides.add(from.get(LaneAccess.LONG, offset("global_stride") + 8L * (i - 1)));
      }
    }
    long address = from.get(LaneAccess.LONG, offset("global_address"));
    if (address % 16 != 0) {
      throw new IllegalArgumentException(
          "a tensor begins at a multiple of 16 bytes, not at 0x%x".formatted(address));
    }
    var elements = Element.values();
    var swizzles = SwizzleMode.values();
    var fills = Fill.values();
    return new EncodedTensorMap(
        new TensorMap(
            elements[number(from, "elemtype", elements.length)],
            sizes,
            strides,
            box,
            elementStrides,
            swizzles[number(from, "swizzle_mode", swizzles.length)],
            fills[number(from, "fill_mode", fills.length)],
            Promotion.NONE),
        address);
  }

  private static int number(MemorySegment from, String field, int limit) {
    int number = from.get(LaneAccess.INT, offset(field));
    if (number < 0 || number >= limit) {
      throw new IllegalArgumentException(
          "a tensor map has a .%s from 0 to %d, got %d".formatted(field, limit - 1, number));
    }
    return number;
  }
}
