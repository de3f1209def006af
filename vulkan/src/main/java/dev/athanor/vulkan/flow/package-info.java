/** Reads the control flow of kernels: loops, branches, and what threads execute together. */
@NullMarked
package dev.athanor.vulkan.flow;

import org.jspecify.annotations.NullMarked;
