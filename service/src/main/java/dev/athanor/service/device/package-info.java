/** Devices: memory, health, plans, and host memory of requests. */
@NullMarked
package dev.athanor.service.device;

import org.jspecify.annotations.NullMarked;
