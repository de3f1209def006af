/** What can be known of a kernel without running it. */
@NullMarked
package dev.athanor.engine.analysis;

import org.jspecify.annotations.NullMarked;
