package dev.athanor.service.config;

import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Settings of kernel tuning.
 *
 * @param cache File with the fastest kernel variants that athanor tune found. Empty for
 *     athanor/tuning.json in the user's cache folder.
 * @param background Whether to time kernel variants while the device is idle.
 */
public record TuningSettings(
    @DefaultValue("") String cache, @DefaultValue("false") boolean background) {}
