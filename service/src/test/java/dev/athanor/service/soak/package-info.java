/** A service in a process of its own, under more work than it can do. */
@NullMarked
package dev.athanor.service.soak;

import org.jspecify.annotations.NullMarked;
