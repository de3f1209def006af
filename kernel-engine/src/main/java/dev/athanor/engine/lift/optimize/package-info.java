/** The passes over the SSA form. */
@NullMarked
package dev.athanor.engine.lift.optimize;

import org.jspecify.annotations.NullMarked;
