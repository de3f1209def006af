package dev.athanor.engine.debug;

import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Type;
import java.lang.foreign.MemorySegment;

/**
 * Bytes of memory as an array.
 *
 * @param address of the first element; an offset outside of global memory
 */
public record MemoryArray(
    String name, Space space, long address, Type element, MemorySegment bytes) {

  /** Returns the number of whole elements. */
  public long count() {
    return bytes.byteSize() / element.bytes();
  }

  /** Returns the bits of an element, zero-extended. */
  public long bits(long index) {
    return Elements.bits(bytes, index * element.bytes(), element);
  }

  /** Returns the text of an element. */
  public String text(long index) {
    return Elements.text(element, bits(index));
  }
}
