/** Reductions and scans along dimensions. */
@NullMarked
package dev.athanor.ops.reduce;

import org.jspecify.annotations.NullMarked;
