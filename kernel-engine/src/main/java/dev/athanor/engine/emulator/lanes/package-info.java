/** JVM code for lane functions, which compute one instruction in one lane. */
@NullMarked
package dev.athanor.engine.emulator.lanes;

import org.jspecify.annotations.NullMarked;
