/** Project templates. */
@NullMarked
package dev.athanor.cli.project;

import org.jspecify.annotations.NullMarked;
