/** Reads ONNX models as graphs of ops. */
@NullMarked
package dev.athanor.models.onnx;

import org.jspecify.annotations.NullMarked;
