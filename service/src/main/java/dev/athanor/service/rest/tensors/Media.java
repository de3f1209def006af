package dev.athanor.service.rest.tensors;

import dev.athanor.service.codec.Tensors;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import jakarta.servlet.http.HttpServletRequest;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;
import org.springframework.http.InvalidMediaTypeException;
import org.springframework.http.MediaType;

/** The media types of request and response bodies. */
public enum Media {
  OCTET_STREAM("application/octet-stream"),
  NPY("application/x-npy"),
  SAFETENSORS("application/x-safetensors"),
  JSON("application/json");

  private final String text;

  @SuppressWarnings("ImmutableEnumChecker") // MediaType is immutable
  private final MediaType type;

  Media(String text) {
    this.text = text;
    type = MediaType.parseMediaType(text);
  }

  public String text() {
    return text;
  }

  /**
   * Returns the media type of a request body.
   *
   * @throws Failure.Refused with {@code unsupported-media-type}
   */
  public static Media ofBody(HttpServletRequest request, Media... taken) {
    var given = request.getContentType();
    if (given != null) {
      try {
        var type = MediaType.parseMediaType(given);
        for (var media : taken) {
          if (media.type.equalsTypeAndSubtype(type)) {
            return media;
          }
        }
      } catch (InvalidMediaTypeException e) {
        throw unsupported(given, taken);
      }
    }
    throw unsupported(given == null ? "missing" : given, taken);
  }

  private static Failure unsupported(String given, Media... taken) {
    return new Failure.Refused(
        Code.UNSUPPORTED_MEDIA_TYPE,
        "Content-Type",
        "Content-Type is %s; %s".formatted(Tensors.excerpt(given), choices(taken)));
  }

  /**
   * Returns the offered media type that the client prefers; of equally preferred types, the first.
   *
   * @throws Failure.Refused with {@code not-acceptable}
   */
  public static Media ofAnswer(HttpServletRequest request, Media... offered) {
    var header = String.join(", ", Collections.list(request.getHeaders("Accept")));
    if (header.isBlank() || header.equals(MediaType.ALL_VALUE)) {
      return offered[0];
    }
    var accepted = accepted(header, offered);
    Media best = null;
    double bestQuality = 0;
    for (var media : offered) {
      double quality = quality(accepted, media.type);
      if (quality > bestQuality) {
        best = media;
        bestQuality = quality;
      }
    }
    if (best == null) {
      throw notAcceptable(header, offered);
    }
    return best;
  }

  /** Whether the client prefers a media type over JSON, as browsers prefer {@code text/html}. */
  public static boolean prefers(HttpServletRequest request, MediaType type) {
    var header = String.join(", ", Collections.list(request.getHeaders("Accept")));
    if (header.isBlank()) {
      return false;
    }
    var accepted = accepted(header, JSON);
    return quality(accepted, type) > quality(accepted, JSON.type);
  }

  private static List<MediaType> accepted(String header, Media... offered) {
    try {
      return MediaType.parseMediaTypes(header);
    } catch (InvalidMediaTypeException e) {
      throw notAcceptable(header, offered);
    }
  }

  /** Returns the weight of the most specific range that matches (RFC 9110, section 12.5.1). */
  private static double quality(List<MediaType> accepted, MediaType type) {
    double quality = 0;
    int closeness = -1;
    for (var range : accepted) {
      int close = range.isWildcardType() ? 0 : range.isWildcardSubtype() ? 1 : 2;
      if (range.includes(type) && close > closeness) {
        closeness = close;
        quality = range.getQualityValue();
      }
    }
    return quality;
  }

  private static Failure notAcceptable(String header, Media... offered) {
    return new Failure.Refused(
        Code.NOT_ACCEPTABLE,
        "Accept",
        "Accept is %s; %s".formatted(Tensors.excerpt(header), choices(offered)));
  }

  private static String choices(Media... media) {
    return (media.length == 1 ? "it must be " : "it must be one of ")
        + Arrays.stream(media).map(Media::text).collect(Collectors.joining(", "));
  }
}
