/** The happens-before relation between the threads of a launch, as vector clocks. */
@NullMarked
package dev.athanor.engine.emulator.sanitizer.clocks;

import org.jspecify.annotations.NullMarked;
