package dev.athanor.engine.lift.host;

/**
 * What the lanes of a warp passed to an operation.
 *
 * @param values bits of each of 32 lanes; 0 for those that took no part
 * @param lanes mask of the lanes that took part
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
record WarpValues(long[] values, int lanes) {}
