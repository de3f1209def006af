/** The interfaces through which a launch is observed, and the events that observers receive. */
@NullMarked
package dev.athanor.engine.emulator.watch;

import org.jspecify.annotations.NullMarked;
