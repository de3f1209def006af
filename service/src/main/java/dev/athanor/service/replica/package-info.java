/** The other replicas of the service: requests to them, and tensors with copies on several. */
@NullMarked
package dev.athanor.service.replica;

import org.jspecify.annotations.NullMarked;
