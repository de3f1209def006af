/** The commands. */
@NullMarked
package dev.athanor.cli.command;

import org.jspecify.annotations.NullMarked;
