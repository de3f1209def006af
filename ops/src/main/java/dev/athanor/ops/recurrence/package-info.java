/** Ops along a sequence that carry a state from one call to the next. */
@NullMarked
package dev.athanor.ops.recurrence;

import org.jspecify.annotations.NullMarked;
