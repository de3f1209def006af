/** The output of commands: tables, tensors, and reports as text, JSON and CSV. */
@NullMarked
package dev.athanor.cli.report;

import org.jspecify.annotations.NullMarked;
