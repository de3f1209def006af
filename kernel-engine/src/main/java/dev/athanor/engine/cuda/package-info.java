/** NVIDIA GPUs, through CUDA's driver API. */
@NullMarked
package dev.athanor.engine.cuda;

import org.jspecify.annotations.NullMarked;
