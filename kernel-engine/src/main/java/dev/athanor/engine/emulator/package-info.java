/** A device without a GPU: it executes kernels statement by statement, and checks what they do. */
@NullMarked
package dev.athanor.engine.emulator;

import org.jspecify.annotations.NullMarked;
