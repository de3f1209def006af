/** The reasons why a method cannot be a kernel. */
@NullMarked
package dev.athanor.engine.lift.refusal;

import org.jspecify.annotations.NullMarked;
