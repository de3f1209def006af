/** Counts what ops do, on any machine. */
@NullMarked
package dev.athanor.ops.profile;

import org.jspecify.annotations.NullMarked;
