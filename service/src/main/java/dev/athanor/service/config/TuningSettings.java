package dev.athanor.service.config;

import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * How the service uses what {@code athanor tune} found, and finds out more.
 *
 * @param cache the file of winners; empty for {@code athanor/tuning.json} in the user's cache
 *     folder
 * @param background whether variants are timed while the device is idle
 */
public record TuningSettings(
    @DefaultValue("") String cache, @DefaultValue("false") boolean background) {}
