package dev.athanor.service.metrics;

import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Settings of metrics.
 *
 * @param triton Whether to publish the metrics of ops also under the names of Triton Inference
 *     Server.
 */
public record MetricsSettings(@DefaultValue("false") boolean triton) {}
