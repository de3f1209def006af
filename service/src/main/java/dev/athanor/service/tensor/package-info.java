/** Resident tensors: handles, leases, quotas. No device is touched here. */
@NullMarked
package dev.athanor.service.tensor;

import org.jspecify.annotations.NullMarked;
