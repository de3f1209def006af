/** Ops that read or write elements at positions that an index tensor names: gather, scatter. */
@NullMarked
package dev.athanor.ops.indexing;

import org.jspecify.annotations.NullMarked;
