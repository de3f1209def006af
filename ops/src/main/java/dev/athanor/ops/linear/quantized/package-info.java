/** Products with quantized weights. */
@NullMarked
package dev.athanor.ops.linear.quantized;

import org.jspecify.annotations.NullMarked;
