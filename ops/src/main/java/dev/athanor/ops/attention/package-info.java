/** Matrix products. */
@NullMarked
package dev.athanor.ops.attention;

import org.jspecify.annotations.NullMarked;
