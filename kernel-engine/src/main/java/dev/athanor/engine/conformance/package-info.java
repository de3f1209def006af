/**
 * Whether a device and the emulator agree on what single instructions do: one kernel an
 * instruction, and the device's answers kept as goldens.
 */
@NullMarked
package dev.athanor.engine.conformance;

import org.jspecify.annotations.NullMarked;
