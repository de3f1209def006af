package dev.athanor.service.rest;

import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** Entity tags: the version of a tensor, quoted. All are strong. */
final class ETags {

  private ETags() {}

  static String of(long version) {
    return "\"" + version + "\"";
  }

  /** Whether a list of tags, or {@code *}, names the version; weak tags never do. */
  static boolean names(String header, long version) {
    return header.strip().equals("*")
        || Arrays.stream(header.split(",")).anyMatch(tag -> tag.strip().equals(of(version)));
  }

  /** Whether {@code If-Match} allows the request; it does when it is not there. */
  static boolean allows(@Nullable String ifMatch, long version) {
    return ifMatch == null || names(ifMatch, version);
  }

  /** The failure of a request whose {@code If-Match} does not name the version. */
  static Failure mismatch(long version) {
    return new Failure.Refused(
        Code.VERSION_MISMATCH,
        "If-Match",
        "the tensor is at version %d, which If-Match does not name; read it again"
            .formatted(version));
  }

  /** Whether {@code If-None-Match} says that the client has the version; weak tags count here. */
  static boolean has(@Nullable String ifNoneMatch, long version) {
    return ifNoneMatch != null && names(ifNoneMatch.replace("W/", ""), version);
  }
}
