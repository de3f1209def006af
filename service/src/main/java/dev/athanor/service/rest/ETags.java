package dev.athanor.service.rest;

import org.jspecify.annotations.Nullable;
import org.springframework.http.ETag;

/** Entity tags (RFC 9110, 8.8.3): the version of a tensor, as a strong tag. */
final class ETags {

  private ETags() {}

  static String of(long version) {
    return tag(version).formattedTag();
  }

  private static ETag tag(long version) {
    return new ETag(Long.toString(version), false);
  }

  private static boolean matches(String header, long version, boolean strong) {
    return header.strip().equals("*")
        || ETag.parse(header).stream().anyMatch(tag -> tag.compare(tag(version), strong));
  }

  /** Returns whether {@code If-Match} allows the request; a missing header does. */
  static boolean allows(@Nullable String ifMatch, long version) {
    return ifMatch == null || matches(ifMatch, version, true);
  }

  /** Returns whether the client has the version according to {@code If-None-Match}. */
  static boolean has(@Nullable String ifNoneMatch, long version) {
    return ifNoneMatch != null && matches(ifNoneMatch, version, false);
  }
}
