package dev.athanor.service.rest.http;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Limits of the REST interface.
 *
 * @param maxBodyBytes the largest request body, and the most data of one tensor in it
 */
public record RestSettings(
    @Min(1024) @Max(Integer.MAX_VALUE - 1024) @DefaultValue("268435456") long maxBodyBytes) {}
