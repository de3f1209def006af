/** What the service measures, and what traces tell of it. */
@NullMarked
package dev.athanor.service.metrics;

import org.jspecify.annotations.NullMarked;
