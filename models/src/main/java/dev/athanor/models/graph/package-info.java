/** Graphs of ops whose inputs have known shapes. */
@NullMarked
package dev.athanor.models.graph;

import org.jspecify.annotations.NullMarked;
