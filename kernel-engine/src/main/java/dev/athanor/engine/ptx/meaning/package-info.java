/** Semantics of instructions: lane functions, number formats, and tensor-core arithmetic. */
@NullMarked
package dev.athanor.engine.ptx.meaning;

import org.jspecify.annotations.NullMarked;
