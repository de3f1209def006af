/** The options of an emulated device. */
@NullMarked
package dev.athanor.engine.emulator.options;

import org.jspecify.annotations.NullMarked;
