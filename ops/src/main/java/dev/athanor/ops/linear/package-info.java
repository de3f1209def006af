/** Problems of matrix products, which all families of their kernels share. */
@NullMarked
package dev.athanor.ops.linear;

import org.jspecify.annotations.NullMarked;
