package dev.athanor.service.replica;

import java.util.List;

/**
 * Replicas listed in the configuration. Some of them may not exist at times.
 *
 * @param marks the marks of all, this one included; empty if this one knows no others
 */
public record ListedReplicas(List<String> marks, ReplicaHosts hosts) implements Membership {

  public ListedReplicas {
    marks = List.copyOf(marks);
  }

  @Override
  public Members members() {
    return new Members(marks.stream().filter(mark -> !hosts.of(mark).isEmpty()).toList(), null);
  }

  @Override
  public int place(String mark) {
    return Math.max(marks.indexOf(mark), 0);
  }

  @Override
  public int maxReplicas() {
    return Math.max(marks.size(), 1);
  }
}
