/** The operation library: one package per family of operations. */
@NullMarked
package dev.athanor.ops;

import org.jspecify.annotations.NullMarked;
