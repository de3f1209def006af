/** Streams, events and graphs. */
@NullMarked
package dev.athanor.engine.cuda.stream;

import org.jspecify.annotations.NullMarked;
