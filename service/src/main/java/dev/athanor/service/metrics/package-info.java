/** Metrics and traces. */
@NullMarked
package dev.athanor.service.metrics;

import org.jspecify.annotations.NullMarked;
