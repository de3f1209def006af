/** The interface of devices that run kernels: memory, streams, graphs and launches. */
@NullMarked
package dev.athanor.engine.device;

import org.jspecify.annotations.NullMarked;
