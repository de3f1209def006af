package dev.athanor.service.http;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Limits of the REST interface.
 *
 * @param maxBodyBytes Largest request body, in bytes; also the limit for each tensor in a body.
 */
public record RestSettings(
    @Min(1024) @Max(Integer.MAX_VALUE - 1024) @DefaultValue("268435456") long maxBodyBytes) {}
