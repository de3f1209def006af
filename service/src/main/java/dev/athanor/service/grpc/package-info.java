/** The gRPC interface: thin translations onto what REST has too. */
@NullMarked
package dev.athanor.service.grpc;

import org.jspecify.annotations.NullMarked;
