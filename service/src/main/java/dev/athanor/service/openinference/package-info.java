/** The Open Inference Protocol v2 for ops and stored models, independent of REST or gRPC. */
@NullMarked
package dev.athanor.service.openinference;

import org.jspecify.annotations.NullMarked;
