/** Building blocks of tensor-core products: tiles, staging in shared memory, and epilogues. */
@NullMarked
package dev.athanor.ops.tile;

import org.jspecify.annotations.NullMarked;
