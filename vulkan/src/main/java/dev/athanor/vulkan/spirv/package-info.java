/** Translates kernels from PTX to SPIR-V modules for Vulkan's compute shaders. */
@NullMarked
package dev.athanor.vulkan.spirv;

import org.jspecify.annotations.NullMarked;
