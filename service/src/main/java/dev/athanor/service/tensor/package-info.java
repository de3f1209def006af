/** Resident tensors: handles, leases, quotas and spilling, independent of devices. */
@NullMarked
package dev.athanor.service.tensor;

import org.jspecify.annotations.NullMarked;
