/** Access to a running service. */
@NullMarked
package dev.athanor.cli.client;

import org.jspecify.annotations.NullMarked;
