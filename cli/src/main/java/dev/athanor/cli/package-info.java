/** The command line. */
@NullMarked
package dev.athanor.cli;

import org.jspecify.annotations.NullMarked;
