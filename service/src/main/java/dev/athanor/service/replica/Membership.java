package dev.athanor.service.replica;

import dev.athanor.service.failure.Failure;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The replicas of a service. A replica without an address does not exist: it has no tensors. */
public interface Membership {

  /**
   * The replicas that exist.
   *
   * @param ids the ids of the known ones, this replica included if it has an address
   * @param unknown why requests that need all replicas fail; null if all are known
   */
  record Members(List<String> ids, @Nullable Failure unknown) {

    public Members {
      ids = List.copyOf(ids);
    }
  }

  /** Returns the replicas that exist now. */
  Members members();

  /** Returns the place of a replica among all, from 0 to 255. All replicas agree on it. */
  int place(String id);

  /** Returns the maximum number of replicas; 1 if this one knows no others. */
  int maxReplicas();
}
