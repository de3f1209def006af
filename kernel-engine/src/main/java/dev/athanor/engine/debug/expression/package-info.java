/** Expressions in Java's syntax that debuggers evaluate in stopped frames. */
@NullMarked
package dev.athanor.engine.debug.expression;

import org.jspecify.annotations.NullMarked;
