/**
 * Products on tensor cores whose blocks stay on their multiprocessor and compute one tile after
 * another. Warpgroups have roles: one copies, the others multiply and store.
 */
@NullMarked
package dev.athanor.ops.tile.persistent;

import org.jspecify.annotations.NullMarked;
