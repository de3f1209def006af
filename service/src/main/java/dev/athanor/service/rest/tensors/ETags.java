package dev.athanor.service.rest.tensors;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.http.ETag;

/**
 * Strong entity tags of tensors (RFC 9110, 8.8.3). The tag of the raw bytes is the version, {@code
 * "7"}; each other format, whose bytes differ, adds its name: {@code "7-npy"}.
 */
final class ETags {

  private ETags() {}

  /** Returns the tag of the raw bytes, and of the description. */
  static String of(long version) {
    return of(version, Media.OCTET_STREAM);
  }

  /** Returns the tag of the contents in a format. */
  static String of(long version, Media media) {
    return tag(version, media).formattedTag();
  }

  private static ETag tag(long version, Media media) {
    var suffix = media == Media.OCTET_STREAM ? "" : "-" + media.name().toLowerCase(Locale.ROOT);
    return new ETag(version + suffix, false);
  }

  private static boolean matches(String header, Stream<ETag> tags, boolean strong) {
    if (header.strip().equals("*")) {
      return true;
    }
    var given = ETag.parse(header);
    return tags.anyMatch(tag -> given.stream().anyMatch(each -> each.compare(tag, strong)));
  }

  /**
   * Returns whether {@code If-Match} allows the request; a missing header does. A client may have
   * read the version in any format.
   */
  static boolean allows(@Nullable String ifMatch, long version) {
    return ifMatch == null
        || matches(ifMatch, Arrays.stream(Media.values()).map(each -> tag(version, each)), true);
  }

  /** Returns whether {@code If-None-Match} forbids a change of the version, in any format. */
  static boolean forbids(@Nullable String ifNoneMatch, long version) {
    return ifNoneMatch != null
        && matches(
            ifNoneMatch, Arrays.stream(Media.values()).map(each -> tag(version, each)), false);
  }

  /** Returns whether the client has the version in a format, according to {@code If-None-Match}. */
  static boolean has(@Nullable String ifNoneMatch, long version, Media media) {
    return ifNoneMatch != null && matches(ifNoneMatch, Stream.of(tag(version, media)), false);
  }
}
