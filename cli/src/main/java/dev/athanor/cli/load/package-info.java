/** A load generator that runs scenarios against a service in closed and open loops. */
@NullMarked
package dev.athanor.cli.load;

import org.jspecify.annotations.NullMarked;
