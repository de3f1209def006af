/** The sanitizer: race detection and memory checks with vector clocks and shadow memory. */
@NullMarked
package dev.athanor.engine.emulator.sanitizer;

import org.jspecify.annotations.NullMarked;
