/** Gradients of attention. */
@NullMarked
package dev.athanor.ops.attention.backward;

import org.jspecify.annotations.NullMarked;
