/** Reads ONNX models as graphs of ops. */
@NullMarked
package dev.athanor.onnx;

import org.jspecify.annotations.NullMarked;
