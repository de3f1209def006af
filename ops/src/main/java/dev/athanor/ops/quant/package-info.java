/** Quantized formats; quantization and dequantization. */
@NullMarked
package dev.athanor.ops.quant;

import org.jspecify.annotations.NullMarked;
