/** The problem, kernels and engines that the attention ops share. */
@NullMarked
package dev.athanor.ops.attention;

import org.jspecify.annotations.NullMarked;
