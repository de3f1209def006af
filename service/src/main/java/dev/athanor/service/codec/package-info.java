/** Formats of tensors: JSON, npy, safetensors and raw bytes. */
@NullMarked
package dev.athanor.service.codec;

import org.jspecify.annotations.NullMarked;
