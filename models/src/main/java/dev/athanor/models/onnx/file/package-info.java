/** The contents of ONNX files. */
@NullMarked
package dev.athanor.models.onnx.file;

import org.jspecify.annotations.NullMarked;
