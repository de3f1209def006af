/** Observers of a launch, and what they are told. */
@NullMarked
package dev.athanor.engine.emulator.watch;

import org.jspecify.annotations.NullMarked;
