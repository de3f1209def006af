/** References of ops in float64 that compute some elements of an output without the others. */
@NullMarked
package dev.athanor.ops.reference;

import org.jspecify.annotations.NullMarked;
