/** Elementwise functions that are given as expressions. */
@NullMarked
package dev.athanor.ops.expression;

import org.jspecify.annotations.NullMarked;
