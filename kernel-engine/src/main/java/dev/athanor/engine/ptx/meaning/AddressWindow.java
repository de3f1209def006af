package dev.athanor.engine.ptx.meaning;

import dev.athanor.engine.ptx.Modifier.Space;

/**
 * Where the small memories lie among generic addresses (PTX ISA 5.1): each has 4 GiB of its own,
 * and all other addresses are those of global memory. The manual leaves the places open; these are
 * ours.
 */
public enum AddressWindow {
  SHARED(Space.SHARED, 0x7F01),
  LOCAL(Space.LOCAL, 0x7F02),
  PARAMETERS(Space.PARAM, 0x7F03),
  CONSTANTS(Space.CONST, 0x7F04);

  /**
   * Shared addresses have the block's number in the cluster plus 1 above this many bits, 0 for the
   * own block.
   */
  public static final int PEER_SHIFT = 24;

  private final Space space;
  private final long start;

  AddressWindow(Space space, long high) {
    this.space = space;
    this.start = high << 32;
  }

  /** The generic address of the memory's byte 0. */
  public long start() {
    return start;
  }

  boolean has(long address) {
    return address >>> 32 == start >>> 32;
  }

  /** The memory that a generic address lies in. */
  public static Space space(long address) {
    for (var window : values()) {
      if (window.has(address)) {
        return window.space;
      }
    }
    return Space.GLOBAL;
  }

  /** The generic address of byte 0 of a memory; that of global memory is 0. */
  public static long start(Space space) {
    for (var window : values()) {
      if (window.space == space) {
        return window.start;
      }
    }
    return 0;
  }
}
