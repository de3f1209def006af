package dev.athanor.service.http;

import java.util.function.BooleanSupplier;

/** A request and its response as the protocol sees them, which servlets cannot. */
interface Exchange {

  /** The exchange of this thread's request; unset outside of requests. */
  ThreadLocal<Exchange> CURRENT = new ThreadLocal<>();

  /** Returns a check whether the client has disconnected or canceled the request. */
  BooleanSupplier clientHasGone();

  /** Returns the read timeout in milliseconds; not positive if there is none. */
  long readTimeoutMillis();

  /** Whether the body is absent or fully read. */
  boolean isBodyRead();

  /** Discards what has arrived of the body, and returns whether the body has ended. */
  boolean discardArrivedBody();

  /** Whether the connection must close if the body is not read to its end. */
  boolean needsWholeBody();

  /** Stops reading the body. */
  void abandonBody();

  /** Aborts a response that has begun, so that the client sees that it is incomplete. */
  void abortResponse();

  /** Switches to large buffers until the request ends. */
  void enlargeBuffers();
}
