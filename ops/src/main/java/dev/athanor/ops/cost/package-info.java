/** Candidate plans of a problem and the cost model that ranks them. */
@NullMarked
package dev.athanor.ops.cost;

import org.jspecify.annotations.NullMarked;
