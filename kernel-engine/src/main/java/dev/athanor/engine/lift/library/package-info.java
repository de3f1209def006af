/** Functions that kernels call in place of those of the JDK, in plain Java. */
@NullMarked
package dev.athanor.engine.lift.library;

import org.jspecify.annotations.NullMarked;
