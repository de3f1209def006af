/** Formats of tensors: JSON, npy, safetensors, GGUF and raw bytes. */
@NullMarked
package dev.athanor.service.codec;

import org.jspecify.annotations.NullMarked;
