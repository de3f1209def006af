/** Problems of matrix products, shared by all kernel families. */
@NullMarked
package dev.athanor.ops.linear;

import org.jspecify.annotations.NullMarked;
