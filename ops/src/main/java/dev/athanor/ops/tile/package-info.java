/**
 * The spine of tensor-core products: {@link dev.athanor.ops.tile.TilePlanner} chooses tiles, {@link
 * dev.athanor.ops.tile.TileProduct} gives a kernel its staging, mainloop and store, and an op
 * brings an {@link dev.athanor.ops.tile.EpilogueFunction}. Plugins may use all public types;
 * docs/add-an-op.md shows how.
 */
@NullMarked
package dev.athanor.ops.tile;

import org.jspecify.annotations.NullMarked;
