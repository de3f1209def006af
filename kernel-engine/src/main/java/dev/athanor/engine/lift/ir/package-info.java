/**
 * The SSA form of a kernel: values in basic blocks with parameters, and the line of Java of each.
 */
@NullMarked
package dev.athanor.engine.lift.ir;

import org.jspecify.annotations.NullMarked;
