/** The compiler from programs to JVM bytecode. */
@NullMarked
package dev.athanor.engine.emulator.jit;

import org.jspecify.annotations.NullMarked;
