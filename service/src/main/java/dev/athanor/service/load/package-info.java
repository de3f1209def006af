/** A load generator: scenarios against a running service, in closed and open loops. */
@NullMarked
package dev.athanor.service.load;

import org.jspecify.annotations.NullMarked;
