/** The sensors of NVIDIA GPUs, read with NVIDIA's management library (NVML). */
@NullMarked
package dev.athanor.engine.nvml;

import org.jspecify.annotations.NullMarked;
