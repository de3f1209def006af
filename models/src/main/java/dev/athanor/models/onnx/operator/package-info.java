/** How ops express the operators of ONNX. */
@NullMarked
package dev.athanor.models.onnx.operator;

import org.jspecify.annotations.NullMarked;
