/** Configuration and wiring of the application. */
@NullMarked
package dev.athanor.service.config;

import org.jspecify.annotations.NullMarked;
