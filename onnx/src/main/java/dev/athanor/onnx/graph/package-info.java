/** Graphs of ops whose inputs have known shapes. */
@NullMarked
package dev.athanor.onnx.graph;

import org.jspecify.annotations.NullMarked;
