package dev.athanor.engine.debug;

/**
 * A warp of a launch.
 *
 * @param launch the number of the launch, from 0
 * @param block the number of the block in its grid, x varying fastest
 * @param warp the number of the warp in its block
 */
public record WarpId(long launch, long block, int warp) {}
