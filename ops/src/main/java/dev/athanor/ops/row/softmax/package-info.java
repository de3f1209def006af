/** Softmax, with and without dropout. */
@NullMarked
package dev.athanor.ops.row.softmax;

import org.jspecify.annotations.NullMarked;
