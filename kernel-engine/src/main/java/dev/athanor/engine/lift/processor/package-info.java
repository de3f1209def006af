/** Checks declarations of kernels while they are compiled. */
@NullMarked
package dev.athanor.engine.lift.processor;

import org.jspecify.annotations.NullMarked;
