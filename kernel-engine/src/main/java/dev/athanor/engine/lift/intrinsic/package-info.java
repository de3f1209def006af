/** The Java methods that have their own instructions. */
@NullMarked
package dev.athanor.engine.lift.intrinsic;

import org.jspecify.annotations.NullMarked;
