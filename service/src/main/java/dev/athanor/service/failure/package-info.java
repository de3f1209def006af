/** Failures and deadlines of requests, independent of the protocol. */
@NullMarked
package dev.athanor.service.failure;

import org.jspecify.annotations.NullMarked;
