package dev.athanor.cli.debug;

import dev.athanor.engine.debug.MemoryArray;
import dev.athanor.engine.debug.WarpId;
import dev.athanor.engine.ptx.Modifier.Space;
import java.util.regex.Pattern;

/**
 * A memory reference of a request: {@code 0x1000000000} in global memory, {@code shared:BLOCK:0x40}
 * in the shared memory of a block.
 */
record MemoryReference(Space space, long block, long address) {

  private static final Pattern TEXT =
      Pattern.compile("(?:shared:(\\d{1,18}):)?(?:0x([0-9a-fA-F]{1,16})|(\\d{1,18}))");

  static MemoryReference of(MemoryArray array, WarpId warp) {
    return new MemoryReference(array.space(), warp.block(), array.address());
  }

  /**
   * @throws IllegalArgumentException if the text is not a memory reference
   */
  static MemoryReference parse(String text, long offset) {
    var match = TEXT.matcher(text);
    if (!match.matches()) {
      throw new IllegalArgumentException(
          "\"%s\" is not a memory reference; write 0x1000000000 for global memory or shared:BLOCK:0x40"
              .formatted(text));
    }
    long address =
        match.group(2) == null
            ? Long.parseLong(match.group(3))
            : Long.parseUnsignedLong(match.group(2), 16);
    return match.group(1) == null
        ? new MemoryReference(Space.GLOBAL, 0, address + offset)
        : new MemoryReference(Space.SHARED, Long.parseLong(match.group(1)), address + offset);
  }

  @Override
  public String toString() {
    return (space == Space.SHARED ? "shared:" + block + ":" : "") + "0x%x".formatted(address);
  }
}
