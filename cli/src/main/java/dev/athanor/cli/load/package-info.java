/** A load generator: scenarios against a running service, in closed and open loops. */
@NullMarked
package dev.athanor.cli.load;

import org.jspecify.annotations.NullMarked;
