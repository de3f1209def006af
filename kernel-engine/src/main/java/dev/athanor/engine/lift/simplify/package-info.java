/** Rules that replace a value by a simpler one. */
@NullMarked
package dev.athanor.engine.lift.simplify;

import org.jspecify.annotations.NullMarked;
