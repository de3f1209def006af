/** Optimizers: ops that update parameters from their gradients. */
@NullMarked
package dev.athanor.ops.optimizer;

import org.jspecify.annotations.NullMarked;
