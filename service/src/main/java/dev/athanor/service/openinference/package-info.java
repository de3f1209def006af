/**
 * The Open Inference Protocol v2, whose models are the ops: what its REST and gRPC forms have in
 * common.
 */
@NullMarked
package dev.athanor.service.openinference;

import org.jspecify.annotations.NullMarked;
