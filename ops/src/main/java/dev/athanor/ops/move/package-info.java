/** Ops that only move elements: strided copies, transposes and gather. */
@NullMarked
package dev.athanor.ops.move;

import org.jspecify.annotations.NullMarked;
