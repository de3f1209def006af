/** The contents of ONNX files. */
@NullMarked
package dev.athanor.onnx.file;

import org.jspecify.annotations.NullMarked;
