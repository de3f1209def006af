package dev.athanor.service.device;

import dev.athanor.engine.device.Capability;
import dev.athanor.service.schedule.Policy;
import dev.athanor.service.schedule.TenantShares;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotNull;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * Settings of execution: concurrency, queues, memory of requests, and shutdown.
 *
 * @param streams Number of streams of each device: jobs that run concurrently.
 * @param queue Maximum number of jobs that wait for a stream.
 * @param queueTime Maximum estimated device time of all waiting jobs together.
 * @param queueBytes Maximum host memory of all waiting jobs together.
 * @param stagingBytes Host memory that each device keeps for tensors in transfer. Transfers beyond
 *     it use smaller pieces.
 * @param inlineBytes Maximum host memory for the tensors inside all concurrent requests and answers
 *     together.
 * @param batchInvariant Whether calls share a launch only if each result is bit for bit the same as
 *     without sharing. If false, the planner chooses one kernel for the whole batch.
 * @param rowInvariant Whether the bits of a row never depend on the number of rows in its tensor,
 *     as requests can ask for themselves. Kernels are then chosen for any number of rows, which
 *     costs speed.
 * @param batchTime Maximum estimated device time by which a tenant gets ahead of its turn when its
 *     calls join a launch. It bounds how long a batch delays the calls of other tenants.
 * @param planCacheSize Number of cached launch plans.
 * @param graphCacheSize Number of repeated pipelines that each device keeps as captured graphs,
 *     with memory of their own, which is released when device memory runs short. 0 disables
 *     capturing. By default 16 on a GPU and 0 on the emulator, where a graph is no faster than its
 *     steps.
 * @param drainDelay How long a service that shuts down keeps accepting work while it reports that
 *     it is not ready, so that load balancers notice.
 * @param drainTimeout How long accepted work may take after the drain delay before it fails.
 * @param drainLinger Minimum time during which new work is answered with the error draining before
 *     the ports close.
 * @param launchTimeout How long a launch may take before its device counts as lost. A running
 *     kernel cannot be stopped.
 * @param deviceLostGracePeriod How long the process stays live after it lost a device, before the
 *     liveness probe fails.
 */
public record RunSettings(
    @Min(1) @Max(64) @DefaultValue("4") int streams,
    @Min(1) @Max(10_000) @DefaultValue("256") int queue,
    @NotNull @DefaultValue("10s") Duration queueTime,
    @NotNull @DefaultValue("1GB") DataSize queueBytes,
    @NotNull @DefaultValue("64MB") DataSize stagingBytes,
    @NotNull @DefaultValue("1GB") DataSize inlineBytes,
    @DefaultValue("true") boolean batchInvariant,
    @DefaultValue("false") boolean rowInvariant,
    @NotNull @DefaultValue("20ms") Duration batchTime,
    @Min(1) @DefaultValue("4096") int planCacheSize,
    @Min(0) @Max(1024) @Nullable Integer graphCacheSize,
    @NotNull @DefaultValue("0s") Duration drainDelay,
    @NotNull @DefaultValue("50s") Duration drainTimeout,
    @NotNull @DefaultValue("1s") Duration drainLinger,
    @NotNull @DefaultValue("30m") Duration launchTimeout,
    @NotNull @DefaultValue("30s") Duration deviceLostGracePeriod) {

  private static final int DEFAULT_GPU_GRAPHS = 16;

  /** Returns the graph cache size for a device. */
  public int graphCacheSize(Capability device) {
    if (graphCacheSize != null) {
      return graphCacheSize;
    }
    return device.id().startsWith("cuda") ? DEFAULT_GPU_GRAPHS : 0;
  }

  /** Returns the scheduling policy with these settings. */
  public Policy policy(TenantShares shares) {
    var usual = Policy.DEFAULT;
    return new Policy(
        usual.bands(),
        usual.age(),
        batchTime,
        new Policy.Queue(queue, queueTime, queueBytes.toBytes()),
        usual.batch(),
        drainDelay,
        drainTimeout,
        shares);
  }
}
