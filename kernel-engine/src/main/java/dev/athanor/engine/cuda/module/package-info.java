/** Compiles, caches, loads and unloads kernels. */
@NullMarked
package dev.athanor.engine.cuda.module;

import org.jspecify.annotations.NullMarked;
