/** Matrix products. */
@NullMarked
package dev.athanor.ops.quant;

import org.jspecify.annotations.NullMarked;
