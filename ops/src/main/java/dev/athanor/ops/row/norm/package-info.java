/** Layer norm, RMS norm and their gradients. */
@NullMarked
package dev.athanor.ops.row.norm;

import org.jspecify.annotations.NullMarked;
