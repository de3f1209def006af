/**
 * Conformance of a device with the emulator, one kernel per instruction, and recorded results of
 * devices (goldens).
 */
@NullMarked
package dev.athanor.engine.conformance;

import org.jspecify.annotations.NullMarked;
