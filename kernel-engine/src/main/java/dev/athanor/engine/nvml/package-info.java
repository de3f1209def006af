/** What an NVIDIA GPU's sensors say, through NVIDIA's management library. */
@NullMarked
package dev.athanor.engine.nvml;

import org.jspecify.annotations.NullMarked;
