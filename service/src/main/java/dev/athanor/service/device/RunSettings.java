package dev.athanor.service.device;

import dev.athanor.engine.device.Capability;
import dev.athanor.service.schedule.Policy;
import jakarta.validation.constraints.DecimalMax;
import jakarta.validation.constraints.DecimalMin;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotNull;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * How much work may be under way, and how it ends.
 *
 * @param streams how many jobs run on the device at once
 * @param queue how many jobs may wait for a stream
 * @param queueTime how much work may wait for a stream, in estimated time on the device
 * @param queueBytes how much host memory the jobs that wait may hold
 * @param stagingBytes how much host memory each device keeps for tensors on their way to it and
 *     from it; what is under way beyond that goes in smaller pieces
 * @param inlineBytes how much host memory the tensors may have together that come and go within
 *     requests, as bytes of a body or as results in an answer
 * @param inlineTenantShare how much of {@code inlineBytes} the requests of one tenant may have,
 *     from 0 to 1, so that clients who are slow to take their answers hold up their own tenant
 *     only; all of it where callers are not told apart
 * @param batchInvariant whether calls share a launch only where each gets bit for bit what it would
 *     get alone; otherwise the planner chooses for all of them together
 * @param planCacheSize how many plans are kept
 * @param graphCacheSize how many repeated pipelines each device keeps as graphs, with memory of
 *     their own that is given up when it is short; 0 for none; unless it is said, 16 on a GPU and
 *     none elsewhere, where a graph is no faster than its steps
 * @param drainDelay how long a service that is to end, and says that it is not ready, still takes
 *     work in: as long as it takes until nobody sends any
 * @param drainTimeout how long after that the work under way may take
 * @param drainLinger how long new work is at least refused with {@code draining} before the ports
 *     close, so that late callers learn why
 * @param launchTimeout how long a launch may take before the device counts as lost; no kernel can
 *     be stopped
 * @param deviceLostGracePeriod how long a process whose device is lost says that it lives, before
 *     it asks to be replaced
 */
public record RunSettings(
    @Min(1) @Max(64) @DefaultValue("4") int streams,
    @Min(1) @Max(10_000) @DefaultValue("256") int queue,
    @NotNull @DefaultValue("10s") Duration queueTime,
    @NotNull @DefaultValue("1GB") DataSize queueBytes,
    @NotNull @DefaultValue("64MB") DataSize stagingBytes,
    @NotNull @DefaultValue("1GB") DataSize inlineBytes,
    @DecimalMin("0.01") @DecimalMax("1") @DefaultValue("0.5") double inlineTenantShare,
    @DefaultValue("true") boolean batchInvariant,
    @Min(1) @DefaultValue("4096") int planCacheSize,
    @Min(0) @Max(1024) @Nullable Integer graphCacheSize,
    @NotNull @DefaultValue("0s") Duration drainDelay,
    @NotNull @DefaultValue("50s") Duration drainTimeout,
    @NotNull @DefaultValue("1s") Duration drainLinger,
    @NotNull @DefaultValue("30m") Duration launchTimeout,
    @NotNull @DefaultValue("30s") Duration deviceLostGracePeriod) {

  private static final int GRAPHS_OF_A_GPU = 16;

  /** How many graphs a device keeps. */
  public int graphCacheSize(Capability device) {
    if (graphCacheSize != null) {
      return graphCacheSize;
    }
    return device.id().startsWith("cuda") ? GRAPHS_OF_A_GPU : 0;
  }

  public Policy policy() {
    var usual = Policy.DEFAULT;
    return new Policy(
        usual.bands(),
        usual.age(),
        usual.quantum(),
        usual.arrears(),
        new Policy.Queue(queue, queueTime, queueBytes.toBytes()),
        usual.batch(),
        drainDelay,
        drainTimeout);
  }
}
