/** Attention of the newest queries of sequences over a cache of keys and values. */
@NullMarked
package dev.athanor.ops.attention.decode;

import org.jspecify.annotations.NullMarked;
