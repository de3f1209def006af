/** Layouts of fragments and shared memory, independent of any device. */
@NullMarked
package dev.athanor.engine.layout;

import org.jspecify.annotations.NullMarked;
