package dev.athanor.service.metrics;

import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * What is measured besides what always is.
 *
 * @param triton whether the figures appear under the names of Triton Inference Server too
 */
public record MetricsSettings(@DefaultValue("false") boolean triton) {}
