/** Writes SSA form as PTX. */
@NullMarked
package dev.athanor.engine.lift.emit;

import org.jspecify.annotations.NullMarked;
