/** The instruction table: a row per instruction, by chapter of the PTX manual. */
@NullMarked
package dev.athanor.engine.ptx.table;

import org.jspecify.annotations.NullMarked;
