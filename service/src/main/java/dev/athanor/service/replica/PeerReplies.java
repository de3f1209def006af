package dev.athanor.service.replica;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.athanor.service.codec.Json;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.replica.ReplicaClient.Reply;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import tools.jackson.core.JsonToken;

/** Reads the responses of other replicas. */
final class PeerReplies {

  private PeerReplies() {}

  static Failure incomplete(String what, List<String> done, Map<String, Failure> failed) {
    var reasons =
        failed.values().stream()
            .map(failure -> String.valueOf(failure.getMessage()))
            .collect(Collectors.joining("; "));
    return new Failure.Incomplete(
        failed.values().iterator().next().code(),
        what + ": " + reasons,
        done,
        List.copyOf(failed.keySet()));
  }

  /** The problem that a replica answers with. */
  static Failure refusal(String id, Reply reply) throws IOException {
    var problem = members(reply);
    var type = problem.getOrDefault("type", "");
    for (var code : Code.values()) {
      if (type.equals("urn:athanor:problem:" + code.text())) {
        return new Failure.Refused(
            code, "the replica %s: %s".formatted(id, problem.getOrDefault("detail", "")));
      }
    }
    return Failure.Busy.replicaUnavailable(id, "answered with status " + reply.status());
  }

  /** The members of an answer that are text. */
  static Map<String, String> members(Reply reply) throws IOException {
    if (!reply.body().startsWith("{")) {
      return Map.of();
    }
    return Json.read(
        new ByteArrayInputStream(reply.body().getBytes(UTF_8)),
        parser -> {
          var members = new LinkedHashMap<String, String>();
          while (parser.nextToken() != JsonToken.END_OBJECT) {
            var name = parser.currentName();
            if (parser.nextToken() == JsonToken.VALUE_STRING) {
              members.put(name, parser.getString());
            } else {
              parser.skipChildren();
            }
          }
          return members;
        });
  }
}
