/** The calls and variables of a kernel's source language, by instruction. */
@NullMarked
package dev.athanor.engine.ptx.symbol;

import org.jspecify.annotations.NullMarked;
