/** Matrix products. */
@NullMarked
package dev.athanor.ops.matmul;

import org.jspecify.annotations.NullMarked;
