package dev.athanor.engine.emulator.async;

import dev.athanor.engine.emulator.step.Block;
import dev.athanor.engine.emulator.step.Step;
import dev.athanor.engine.ptx.Warps;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The bulk async-groups of the threads of a block (PTX ISA 9.7.9.25.6). */
public final class BulkGroups {

  private record Member(Transfer transfer, int group) {}

  private final Block block;
  private final PendingOperations operations;
  private final int[] committed;
  private final Map<Integer, List<Member>> members = new HashMap<>();

  BulkGroups(Block block, PendingOperations operations) {
    this.block = block;
    this.operations = operations;
    this.committed = new int[block.scratch.length];
  }

  void clear() {
    Arrays.fill(committed, 0);
    members.clear();
  }

  /** Returns the number of groups that a thread has committed. */
  int committed(int lane) {
    return committed[lane];
  }

  /** Adds a transfer to the group that its thread commits next. */
  void add(int lane, Transfer transfer) {
    members
        .computeIfAbsent(lane, _ -> new ArrayList<>())
        .add(new Member(transfer, committed[lane]));
  }

  /** {@code cp.async.bulk.commit_group}. */
  public record Commit(BulkGroups groups) implements Step {
    @Override
    public void execute(int first, int end, boolean whole) {
      for (int lane = Warps.SIZE * first; lane < Warps.SIZE * end; lane++) {
        if (groups.block.isActive(lane)) {
          groups.committed[lane]++;
        }
      }
    }
  }

  /**
   * {@code cp.async.bulk.wait_group}.
   *
   * @param but the number of newest groups to leave pending
   * @param read whether to wait only until the sources are read
   */
  public record Wait(BulkGroups groups, int but, boolean read) implements Step {
    @Override
    public void execute(int first, int end, boolean whole) {
      for (int lane = Warps.SIZE * first; lane < Warps.SIZE * end; lane++) {
        if (groups.block.isActive(lane)) {
          groups.await(lane, but, read);
        }
      }
    }
  }

  private void await(int lane, int but, boolean read) {
    var observer = block.asyncObserver;
    if (observer != null && committed[lane] > but) {
      observer.awaits(lane, committed[lane] - but, read);
    }
    var own = members.get(lane);
    if (own == null) {
      return;
    }
    var wanted = new ArrayDeque<PendingOperation>();
    for (var member : own) {
      if (member.group < committed[lane] - but) {
        if (read) {
          member.transfer.read();
        } else {
          wanted.add(member.transfer);
        }
      }
    }
    operations.finishAll(wanted);
    own.removeIf(member -> member.transfer.isDone());
  }
}
