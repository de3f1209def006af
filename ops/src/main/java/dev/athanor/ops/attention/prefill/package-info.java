/** Attention of many queries. */
@NullMarked
package dev.athanor.ops.attention.prefill;

import org.jspecify.annotations.NullMarked;
