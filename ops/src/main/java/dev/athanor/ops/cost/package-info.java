/** Candidate plans of a problem, and what ranks them. */
@NullMarked
package dev.athanor.ops.cost;

import org.jspecify.annotations.NullMarked;
