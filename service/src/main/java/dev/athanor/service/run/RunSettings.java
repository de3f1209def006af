package dev.athanor.service.run;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * How much work may be under way.
 *
 * @param streams how many jobs run on the device at once
 * @param queue how many jobs may wait for a stream
 * @param plans how many plans are kept
 */
public record RunSettings(
    @Min(1) @Max(64) @DefaultValue("4") int streams,
    @Min(1) @Max(10_000) @DefaultValue("256") int queue,
    @Min(1) @DefaultValue("4096") int plans) {}
