/** Ops that only move elements: transpose and gather. */
@NullMarked
package dev.athanor.ops.move;

import org.jspecify.annotations.NullMarked;
