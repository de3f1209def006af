/** Reads the bytecode of a method into SSA form. */
@NullMarked
package dev.athanor.engine.lift.bytecode;

import org.jspecify.annotations.NullMarked;
