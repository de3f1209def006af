package dev.athanor.service.forward;

import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;

/** The headers that go on to the owner of a tensor, and those that come back from it. */
final class ForwardedHeaders {

  /** Those of one connection alone (RFC 9110, 7.6.1). */
  private static final Set<String> HOP_BY_HOP =
      Set.of(
          "connection",
          "keep-alive",
          "proxy-authenticate",
          "proxy-authorization",
          "proxy-connection",
          "te",
          "trailer",
          "transfer-encoding",
          "upgrade");

  /** Those of a request that are written anew. */
  private static final Set<String> REWRITTEN =
      Set.of("host", "content-length", "expect", "x-deadline-ms", "athanor-forwarded");

  private ForwardedHeaders() {}

  /** Copies the headers of a request but for those of its connection and those written anew. */
  static void copy(HttpServletRequest from, HttpRequest.Builder to) {
    var connection = named(Collections.list(from.getHeaders("Connection")));
    for (var name : Collections.list(from.getHeaderNames())) {
      var key = name.toLowerCase(Locale.ROOT);
      if (!connection.contains(key) && !REWRITTEN.contains(key)) {
        from.getHeaders(name).asIterator().forEachRemaining(value -> to.header(name, value));
      }
    }
  }

  /**
   * Copies the headers of an answer, over those that are there, but for those of its connection.
   *
   * @return the names that were copied
   */
  static List<String> copy(HttpHeaders from, HttpServletResponse to) {
    var connection = named(from.allValues("Connection"));
    var copied = new ArrayList<String>();
    from.map()
        .forEach((name, values) -> {
          if (!connection.contains(name.toLowerCase(Locale.ROOT))) {
            to.setHeader(name, values.getFirst());
            values.stream().skip(1).forEach(value -> to.addHeader(name, value));
            copied.add(name);
          }
        });
    return copied;
  }

  /** The headers that belong to one connection, some of which {@code Connection} names. */
  private static Set<String> named(List<String> connection) {
    var names = new TreeSet<>(HOP_BY_HOP);
    for (var line : connection) {
      for (var name : line.split(",", -1)) {
        names.add(name.strip().toLowerCase(Locale.ROOT));
      }
    }
    return names;
  }
}
