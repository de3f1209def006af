/**
 * The framework for tensor-core products: {@link dev.athanor.ops.tile.TilePlanner} chooses tiles,
 * {@link dev.athanor.ops.tile.TileProduct} provides staging, mainloop and store, and an op
 * implements an {@link dev.athanor.ops.tile.EpilogueFunction}. Plugins may use all public types;
 * docs/add-an-op.md shows how.
 */
@NullMarked
package dev.athanor.ops.tile;

import org.jspecify.annotations.NullMarked;
