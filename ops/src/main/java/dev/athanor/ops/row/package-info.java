/**
 * The framework for ops on rows: an op implements {@link dev.athanor.ops.row.RowFunction}, and
 * {@link dev.athanor.ops.row.RowPlanner} launches it for rows of any length and alignment. Plugins
 * may use all public types; docs/add-an-op.md shows how.
 */
@NullMarked
package dev.athanor.ops.row;

import org.jspecify.annotations.NullMarked;
