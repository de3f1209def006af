/** Runs of ops and pipelines: batching, captured pipelines, outputs. */
@NullMarked
package dev.athanor.service.run;

import org.jspecify.annotations.NullMarked;
