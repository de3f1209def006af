/** Verification of ops against their references. */
@NullMarked
package dev.athanor.ops.check;

import org.jspecify.annotations.NullMarked;
