/** The gRPC interface: converts messages and delegates to the same classes as REST. */
@NullMarked
package dev.athanor.service.grpc;

import org.jspecify.annotations.NullMarked;
