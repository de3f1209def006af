package dev.athanor.engine.emulator.sanitizer;

/**
 * A change of a tensor map by an instruction for such maps.
 *
 * @param mark without an instruction
 * @param together whether the lanes of the warp made it together
 */
record TensorMapChange(long mark, int cluster, boolean together) {}
