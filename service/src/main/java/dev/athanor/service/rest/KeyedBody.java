package dev.athanor.service.rest;

import dev.athanor.service.codec.ByteSource;
import dev.athanor.service.codec.Digested;
import dev.athanor.service.http.HttpRequests;
import dev.athanor.service.rest.tensors.Media;
import dev.athanor.service.run.Result;
import jakarta.servlet.http.HttpServletRequest;
import java.io.IOException;
import java.util.function.BiFunction;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The body of a request to run ops, which may have an idempotency key. */
final class KeyedBody {

  private final HttpServletRequest request;
  private final ByteSource body;
  private final @Nullable String key;

  KeyedBody(HttpServletRequest request, long limit) throws IOException {
    this.request = request;
    key = request.getHeader(HttpRequests.IDEMPOTENCY_KEY);
    var sent = HttpRequests.body(request, limit);
    body = key == null ? sent : new Digested(sent);
  }

  ByteSource body() {
    return body;
  }

  /**
   * Runs the request once its body has been read.
   *
   * @param keyed runs it with its key and its fingerprint
   */
  Result run(Media media, Supplier<Result> unkeyed, BiFunction<String, String, Result> keyed)
      throws IOException {
    if (key == null || !(body instanceof Digested digested)) {
      return unkeyed.get();
    }
    digested.drain();
    return keyed.apply(
        key,
        "%s %s?%s#%s"
            .formatted(
                media, request.getRequestURI(), request.getQueryString(), digested.sha256()));
  }
}
