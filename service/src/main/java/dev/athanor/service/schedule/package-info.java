/** Who runs when and where: a state machine without threads, clock or device, told of events. */
@NullMarked
package dev.athanor.service.schedule;

import org.jspecify.annotations.NullMarked;
