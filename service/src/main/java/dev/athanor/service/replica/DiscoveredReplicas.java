package dev.athanor.service.replica;

import dev.athanor.service.failure.Failure;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.HashSet;

/**
 * Replicas that are found by DNS. Their marks are ordinals, as those of the pods of a StatefulSet.
 * Ordinals are looked up from 0 until the host of a replica is found for each address of {@code
 * host}, so gaps between ordinals do no harm, and what is found is exact.
 *
 * @param host whose addresses are those of all replicas that exist, such as a headless Service
 */
public record DiscoveredReplicas(String host, ReplicaHosts hosts) implements Membership {

  /** The number of ordinals, each of which is a {@linkplain #place place}. */
  public static final int ORDINALS = 256;

  @Override
  public Members members() {
    var addresses = new HashSet<>(hosts.at(host));
    if (addresses.isEmpty()) { // this replica exists, so the lookup has failed
      return new Members(
          new ArrayList<>(),
          unknown("the host %s (athanor.forward.discovery) has no address".formatted(host)));
    }
    var marks = new ArrayList<String>();
    for (int ordinal = 0; ordinal < ORDINALS && !addresses.isEmpty(); ordinal++) {
      var mark = Integer.toString(ordinal);
      var found = hosts.of(mark);
      if (!found.isEmpty()) {
        marks.add(mark);
        found.forEach(addresses::remove);
      }
    }
    return new Members(
        marks,
        addresses.isEmpty()
            ? null
            : unknown(
                "%s is an address of %s (athanor.forward.discovery), but of no replica from 0 to %d of athanor.forward.url"
                    .formatted(
                        addresses.stream()
                            .map(InetAddress::getHostAddress)
                            .sorted()
                            .findFirst()
                            .orElseThrow(),
                        host,
                        ORDINALS - 1)));
  }

  private static Failure unknown(String why) {
    return Failure.Busy.replicasUnknown(why);
  }

  @Override
  public int place(String mark) {
    return Integer.parseInt(mark);
  }

  @Override
  public int maxReplicas() {
    return ORDINALS;
  }
}
