/** The Open Inference Protocol v2 with ops as models, independent of REST or gRPC. */
@NullMarked
package dev.athanor.service.openinference;

import org.jspecify.annotations.NullMarked;
