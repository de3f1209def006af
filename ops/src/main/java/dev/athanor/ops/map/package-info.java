/** Elementwise functions and conversions. */
@NullMarked
package dev.athanor.ops.map;

import org.jspecify.annotations.NullMarked;
