package dev.athanor.engine.ptx.meaning;

import dev.athanor.engine.ptx.Modifier.Space;

/**
 * The windows of state spaces in the generic address space (PTX ISA 5.1). Each window has 4 GiB;
 * all other addresses are global. The manual leaves their positions open; these are the emulator's.
 */
public enum AddressWindow {
  SHARED(Space.SHARED, 0x7F01),
  LOCAL(Space.LOCAL, 0x7F02),
  PARAMETERS(Space.PARAM, 0x7F03),
  CONSTANTS(Space.CONST, 0x7F04);

  /**
   * Bits above which a shared address holds the rank of its block in the cluster plus 1; 0 for the
   * own block.
   */
  public static final int PEER_SHIFT = 24;

  private final Space space;
  private final long start;

  AddressWindow(Space space, long high) {
    this.space = space;
    this.start = high << 32;
  }

  /** Returns the generic address of the window's first byte. */
  public long start() {
    return start;
  }

  boolean contains(long address) {
    return address >>> 32 == start >>> 32;
  }

  /** Returns the state space of a generic address. */
  public static Space space(long address) {
    for (var window : values()) {
      if (window.contains(address)) {
        return window.space;
      }
    }
    return Space.GLOBAL;
  }

  /** Returns the generic address of a state space's first byte; 0 for global memory. */
  public static long start(Space space) {
    for (var window : values()) {
      if (window.space == space) {
        return window.start;
      }
    }
    return 0;
  }
}
