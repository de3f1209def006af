/** The steps of pipelines and of stored graphs in JSON. */
@NullMarked
package dev.athanor.service.pipeline;

import org.jspecify.annotations.NullMarked;
