/**
 * A tutorial in the form of a ladder: the same matrix product eight times, each faster than the one
 * before by one idea. Read the steps in the order of {@link dev.athanor.ops.linear.steps.Ladder}.
 */
@NullMarked
package dev.athanor.ops.linear.steps;

import org.jspecify.annotations.NullMarked;
