/**
 * NVIDIA GPUs, through CUDA's driver API.
 *
 * <p>The layers, lower first: {@code driver} (calls and errors), {@code context}, {@code memory},
 * {@code module}, {@code stream} (streams, events and graphs), and the device in this package. Each
 * depends only on those before it.
 */
@NullMarked
package dev.athanor.engine.cuda;

import org.jspecify.annotations.NullMarked;
