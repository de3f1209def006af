/** Kernels that compute row by row. */
@NullMarked
package dev.athanor.ops.row;

import org.jspecify.annotations.NullMarked;
