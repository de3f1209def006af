package dev.athanor.service.rest.tensors;

import dev.athanor.service.codec.Json;
import dev.athanor.service.codec.Tensors;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.http.HttpRequests;
import jakarta.servlet.http.HttpServletRequest;
import java.util.ArrayList;
import java.util.List;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/** Reads the parts of requests that concern copies on several replicas. */
public final class ReplicaRequests {

  /** Maximum size of a message between replicas. */
  public static final int LONGEST_MESSAGE = 1 << 16;

  private ReplicaRequests() {}

  /**
   * Returns the number of replicas that get a copy, from {@code ?replicas=}; 0 for all.
   *
   * @param most the maximum number of replicas
   */
  public static int copies(HttpServletRequest request, int most) {
    var text = request.getParameter("replicas");
    if (text == null) {
      return 1;
    }
    if (text.equals("all")) {
      return 0;
    }
    var given = Tensors.integer(text);
    if (given.isPresent() && given.getAsLong() >= 1 && given.getAsLong() <= most) {
      return (int) given.getAsLong();
    }
    throw new Failure.Refused(
        Code.INVALID_ATTRIBUTE,
        "replicas",
        "replicas is \"%s\"; it must be all or an integer 1 to %d, the maximum number of replicas (athanor.forward.replicas, athanor.forward.discovery)"
            .formatted(Tensors.excerpt(text), most));
  }

  /**
   * Checks that a replica sent the request.
   *
   * @param instead the request that clients send
   */
  public static void checkSender(HttpServletRequest request, String instead) {
    if (!HttpRequests.isForwarded(request)) {
      throw new Failure.Refused(
          Code.INVALID_ATTRIBUTE,
          "Athanor-Forwarded",
          "Athanor-Forwarded is missing; replicas send this request to each other, and clients send "
              + instead);
    }
  }

  /** Reads an integer. */
  public static long integer(JsonParser parser, String key, long least, long most) {
    if (parser.currentToken() == JsonToken.VALUE_NUMBER_INT
        && parser.getNumberType() != JsonParser.NumberType.BIG_INTEGER
        && parser.getLongValue() >= least
        && parser.getLongValue() <= most) {
      return parser.getLongValue();
    }
    throw new Failure.Refused(
        Code.INVALID_ATTRIBUTE,
        key,
        "%s is %s; it must be an integer %d to %d"
            .formatted(key, Json.excerpt(parser), least, most));
  }

  /** Returns the failure of a message without a version. */
  public static Failure versionMissing(String what) {
    return new Failure.Refused(Code.INVALID_ATTRIBUTE, "version", "version is missing; it " + what);
  }

  /** Reads the ids of the replicas with a copy. */
  public static List<String> replicas(JsonParser parser) {
    if (parser.currentToken() != JsonToken.START_ARRAY) {
      throw new Failure.Refused(
          Code.INVALID_ATTRIBUTE,
          "replicas",
          "replicas must be a list of ids, got " + Json.name(parser.currentToken()));
    }
    var replicas = new ArrayList<String>();
    while (parser.nextToken() != JsonToken.END_ARRAY) {
      replicas.add(Json.string(parser, "replicas", Code.INVALID_ATTRIBUTE));
    }
    return replicas;
  }
}
