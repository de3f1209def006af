/** Attention: forward, backward, and over a cache of keys and values. */
@NullMarked
package dev.athanor.ops.attention;

import org.jspecify.annotations.NullMarked;
