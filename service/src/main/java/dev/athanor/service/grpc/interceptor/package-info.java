/** Interceptors of all gRPC calls that need no other part of the service. */
@NullMarked
package dev.athanor.service.grpc.interceptor;

import org.jspecify.annotations.NullMarked;
