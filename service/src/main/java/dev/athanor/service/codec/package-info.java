/** Tensors in JSON, npy and raw bytes. */
@NullMarked
package dev.athanor.service.codec;

import org.jspecify.annotations.NullMarked;
