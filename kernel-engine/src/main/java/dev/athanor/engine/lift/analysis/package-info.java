/** What the passes ask about the SSA form. */
@NullMarked
package dev.athanor.engine.lift.analysis;

import org.jspecify.annotations.NullMarked;
