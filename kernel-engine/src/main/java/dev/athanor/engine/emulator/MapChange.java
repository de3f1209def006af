package dev.athanor.engine.emulator;

/**
 * A change of a tensor map by an instruction for such maps.
 *
 * @param mark without an instruction
 * @param together whether the lanes of the warp made it together
 */
record MapChange(long mark, int cluster, boolean together) {}
