/** Runs kernels on Vulkan devices: GPUs of all vendors, and drivers that run on the CPU. */
@NullMarked
package dev.athanor.vulkan;

import org.jspecify.annotations.NullMarked;
