/** Execution of ops and pipelines: batching, captured graphs, outputs. */
@NullMarked
package dev.athanor.service.run;

import org.jspecify.annotations.NullMarked;
