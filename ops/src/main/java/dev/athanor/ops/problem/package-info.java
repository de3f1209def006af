/** Checks that the problems of several families share. */
@NullMarked
package dev.athanor.ops.problem;

import org.jspecify.annotations.NullMarked;
