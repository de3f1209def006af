package dev.athanor.service.replica;

import java.util.List;

/**
 * Replicas listed in the configuration. Some of them may not exist at times.
 *
 * @param ids the ids of all, this one included; empty if this one knows no others
 */
public record ListedReplicas(List<String> ids, ReplicaHosts hosts) implements Membership {

  public ListedReplicas {
    ids = List.copyOf(ids);
  }

  @Override
  public Members members() {
    return new Members(ids.stream().filter(id -> !hosts.of(id).isEmpty()).toList(), null);
  }

  @Override
  public int place(String id) {
    return Math.max(ids.indexOf(id), 0);
  }

  @Override
  public int maxReplicas() {
    return Math.max(ids.size(), 1);
  }
}
