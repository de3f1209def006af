/** Forwards requests to the replica that owns their tensors, where that is configured. */
@NullMarked
package dev.athanor.service.forward;

import org.jspecify.annotations.NullMarked;
