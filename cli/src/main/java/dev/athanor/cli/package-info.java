/** The command line. Nothing else prints. */
@NullMarked
package dev.athanor.cli;

import org.jspecify.annotations.NullMarked;
