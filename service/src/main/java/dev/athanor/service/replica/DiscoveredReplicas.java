package dev.athanor.service.replica;

import dev.athanor.service.failure.Failure;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;

/**
 * Replicas found by DNS. Their ids are ordinals, such as those of the pods of a StatefulSet. Looks
 * up ordinals from 0 until each address of {@code host} belongs to a replica, so ordinals may have
 * gaps.
 *
 * @param host host whose addresses are those of all replicas, such as a headless Service
 */
public record DiscoveredReplicas(String host, ReplicaHosts hosts) implements Membership {

  /** The maximum number of replicas, with ordinals from 0. */
  public static final int ORDINALS = 256;

  @Override
  public Members members() {
    var addresses = new LinkedHashSet<>(hosts.at(host));
    if (addresses.isEmpty()) { // this replica exists, so the lookup has failed
      return new Members(
          List.of(),
          unknown("the host %s (athanor.forward.discovery) has no address".formatted(host)));
    }
    var ids = new ArrayList<String>();
    for (int ordinal = 0; ordinal < ORDINALS && !addresses.isEmpty(); ordinal++) {
      var id = Integer.toString(ordinal);
      var found = hosts.of(id);
      if (!found.isEmpty()) {
        ids.add(id);
        found.forEach(addresses::remove);
      }
    }
    if (addresses.isEmpty()) {
      return new Members(ids, null);
    }
    var address = addresses.getFirst().getHostAddress();
    return new Members(
        ids,
        unknown(
            "%s is an address of %s (athanor.forward.discovery), but of no replica from 0 to %d of athanor.forward.url"
                .formatted(address, host, ORDINALS - 1)));
  }

  private static Failure unknown(String why) {
    return Failure.Busy.replicasMissing(why);
  }

  @Override
  public int place(String id) {
    return Integer.parseInt(id);
  }

  @Override
  public int maxReplicas() {
    return ORDINALS;
  }
}
