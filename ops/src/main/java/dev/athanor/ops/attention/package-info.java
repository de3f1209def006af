/** The problem of attention, and the kernels and engines that its ops share. */
@NullMarked
package dev.athanor.ops.attention;

import org.jspecify.annotations.NullMarked;
