package dev.athanor.service.metrics;

import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Settings of metrics.
 *
 * @param triton Whether to publish the metrics of ops under the names of Triton Inference Server as
 *     well.
 */
public record MetricsSettings(@DefaultValue("false") boolean triton) {}
