/** Rotary position embeddings. */
@NullMarked
package dev.athanor.ops.row.rope;

import org.jspecify.annotations.NullMarked;
