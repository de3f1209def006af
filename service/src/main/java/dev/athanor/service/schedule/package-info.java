/** The scheduler: a state machine without threads, clock or device, driven by events. */
@NullMarked
package dev.athanor.service.schedule;

import org.jspecify.annotations.NullMarked;
