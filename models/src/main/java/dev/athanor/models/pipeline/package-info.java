/** Graphs that clients write as steps. */
@NullMarked
package dev.athanor.models.pipeline;

import org.jspecify.annotations.NullMarked;
