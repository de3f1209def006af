/** Matrix products. */
@NullMarked
package dev.athanor.ops.elementwise;

import org.jspecify.annotations.NullMarked;
