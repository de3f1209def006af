/** Checkpoints in the layout of Hugging Face: a {@code config.json} and named tensors. */
@NullMarked
package dev.athanor.models.checkpoint;

import org.jspecify.annotations.NullMarked;
