/**
 * A GPU's CUDA context: errors, fences behind pending work, and frees deferred until it is done.
 */
@NullMarked
package dev.athanor.engine.cuda.context;

import org.jspecify.annotations.NullMarked;
