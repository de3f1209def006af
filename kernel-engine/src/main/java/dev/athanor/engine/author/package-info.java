/**
 * Kernel authoring in Java with typed values; Java loops unroll, builder loops run on the device.
 */
@NullMarked
package dev.athanor.engine.author;

import org.jspecify.annotations.NullMarked;
