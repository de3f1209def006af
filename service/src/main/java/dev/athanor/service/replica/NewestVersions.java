package dev.athanor.service.replica;

import dev.athanor.service.failure.Failure;
import dev.athanor.service.replica.Peers.PeerRequest;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The newest versions of a model on other replicas.
 *
 * @param versions versions by replica; 0 if it does not have the model
 * @param failures why replicas could not be asked
 */
record NewestVersions(Map<String, Long> versions, Map<String, Failure> failures) {

  /** Asks other replicas. */
  static NewestVersions of(EntryRequest request, Peers peers, List<String> others, String name)
      throws IOException {
    var versions = new LinkedHashMap<String, Long>();
    var failures = new LinkedHashMap<String, Failure>();
    for (var id : others) {
      try {
        var asked = new PeerRequest(request, "HEAD", ModelReplication.path(name), true);
        var reply = peers.ask(id, asked);
        if (reply.status() == 204) {
          versions.put(id, Peers.version(reply.etag()).orElse(0));
        } else {
          failures.put(id, PeerReplies.refusal(id, reply));
        }
      } catch (Failure.DeadlineExceeded e) {
        throw e;
      } catch (Failure e) {
        failures.put(id, e);
      }
    }
    return new NewestVersions(versions, failures);
  }

  /** Returns whether a replica has the model. */
  boolean has(String id) {
    return versions.getOrDefault(id, 0L) > 0;
  }

  /** Returns the greatest version; 0 if no replica has the model. */
  long greatest() {
    return versions.values().stream().mapToLong(Long::longValue).max().orElse(0);
  }

  /** Returns the replicas, those that have the model first. */
  List<String> replicas() {
    var ids = new ArrayList<String>();
    versions.keySet().stream().filter(this::has).forEach(ids::add);
    versions.keySet().stream().filter(id -> !has(id)).forEach(ids::add);
    ids.addAll(failures.keySet());
    return ids;
  }
}
