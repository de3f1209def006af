/** The memory of a GPU and page-locked memory of the host. */
@NullMarked
package dev.athanor.engine.cuda.memory;

import org.jspecify.annotations.NullMarked;
