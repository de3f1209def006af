/** Devices: their memory, health, plans, and the host memory of requests. */
@NullMarked
package dev.athanor.service.device;

import org.jspecify.annotations.NullMarked;
