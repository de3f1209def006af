package dev.athanor.service.replica;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.tensor.Handles;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** Tests which replicas are found for the records of a DNS server. */
class MembershipTest {

  private final Map<String, List<String>> records = new HashMap<>();
  private final List<String> asked = new ArrayList<>();
  private final ReplicaHosts hosts =
      new ReplicaHosts(new Handles("lab-1", "http://lab-{replica}.headless:8080"), this::resolve);
  private final Membership discovered = new DiscoveredReplicas("headless", hosts);

  private InetAddress[] resolve(String host) throws UnknownHostException {
    asked.add(host);
    var found = new ArrayList<InetAddress>();
    for (var address : records.getOrDefault(host, List.of())) {
      found.add(InetAddress.getByName(address));
    }
    if (found.isEmpty()) {
      throw new UnknownHostException(host);
    }
    return found.toArray(InetAddress[]::new);
  }

  private void replica(int ordinal, String... addresses) {
    records.put("lab-%d.headless".formatted(ordinal), List.of(addresses));
    var all = new ArrayList<>(records.getOrDefault("headless", List.of()));
    all.addAll(List.of(addresses));
    records.put("headless", all);
  }

  private static Failure unknown(Membership membership) {
    var failure = Objects.requireNonNull(membership.members().unknown());
    assertThat(failure.code()).isEqualTo(Code.REPLICA_UNAVAILABLE);
    return failure;
  }

  @Test
  void findsReplicasWithoutLookingFurther() {
    replica(0, "10.0.0.1");
    replica(1, "10.0.0.2");

    assertThat(discovered.members()).isEqualTo(new Membership.Members(List.of("0", "1"), null));
    assertThat(asked).containsExactly("headless", "lab-0.headless", "lab-1.headless");
    assertThat(discovered.place("1")).isEqualTo(1);
    assertThat(discovered.maxReplicas()).isEqualTo(256);
  }

  /** Such as a pod that is being replaced, or that waits for a GPU. */
  @Test
  void replicasWithoutAnAddressDoNotExist() {
    replica(1, "10.0.0.2");
    replica(255, "10.0.0.3", "2001:db8::3");

    assertThat(discovered.members()).isEqualTo(new Membership.Members(List.of("1", "255"), null));
  }

  /** While DNS servers and caches still differ, what was found must not pass for all replicas. */
  @Test
  void addressesWithoutAReplicaAreReported() {
    replica(0, "10.0.0.1");
    replica(1, "10.0.0.2");
    records.remove("lab-0.headless");

    assertThat(discovered.members().ids()).containsExactly("1");
    assertThat(unknown(discovered))
        .hasMessage(
            "10.0.0.1 is an address of headless (athanor.forward.discovery), but of no replica from 0 to 255 of athanor.forward.url; retry after 5 s");
  }

  /** The headless Service does not list replica 1 yet, which has just started. */
  @Test
  void aNewReplicaHidesNoOther() {
    replica(0, "10.0.0.1");
    records.put("lab-1.headless", List.of("10.0.0.9"));
    replica(2, "10.0.0.3");

    assertThat(discovered.members())
        .isEqualTo(new Membership.Members(List.of("0", "1", "2"), null));
  }

  @Test
  void aFailedLookupIsNotAnEmptyService() {
    assertThat(unknown(discovered))
        .hasMessage(
            "the host headless (athanor.forward.discovery) has no address; retry after 5 s");
  }

  @Test
  void listedReplicasMayNotExist() {
    var listed = new ListedReplicas(List.of("2", "0", "1"), hosts);
    replica(0, "10.0.0.1");
    replica(1, "10.0.0.2");

    assertThat(listed.members()).isEqualTo(new Membership.Members(List.of("0", "1"), null));
    assertThat(listed.place("1")).isEqualTo(2);
    assertThat(listed.maxReplicas()).isEqualTo(3);
  }
}
