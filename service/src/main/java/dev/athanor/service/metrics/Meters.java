package dev.athanor.service.metrics;

import io.micrometer.core.instrument.Meter;
import java.util.List;

/**
 * Every meter of ours: what it is called in code and on the Prometheus page, what it counts, and
 * its labels besides {@code device}. A label takes few values: never a handle, a shape or free
 * text.
 */
public enum Meters {
  OP(
      "athanor.op",
      "athanor_op_seconds",
      Meter.Type.TIMER,
      "Time of an op by phase",
      "op",
      "dtype",
      "phase"),
  OP_REQUESTS(
      "athanor.op.requests",
      "athanor_op_requests_total",
      Meter.Type.COUNTER,
      "Requests to run an op by outcome: ok, or the code of the failure",
      "op",
      "outcome"),
  OP_FLOPS(
      "athanor.op.flops",
      "athanor_op_flops_total",
      Meter.Type.COUNTER,
      "Floating-point operations that the ops needed",
      "op"),
  OP_BYTES(
      "athanor.op.bytes",
      "athanor_op_bytes_total",
      Meter.Type.COUNTER,
      "Bytes of device memory that the ops had to read and write",
      "op"),
  BATCH_SIZE(
      "athanor.batch.size",
      "athanor_batch_size",
      Meter.Type.DISTRIBUTION_SUMMARY,
      "Calls that a launch of an op did",
      "op"),
  GRAPH_LAUNCHES(
      "athanor.graph.launches",
      "athanor_graph_launches_total",
      Meter.Type.COUNTER,
      "Pipelines that ran as a graph"),
  TENSORS("athanor.tensors", "athanor_tensors", Meter.Type.GAUGE, "Resident tensors"),
  TENSOR_BYTES(
      "athanor.tensor.bytes",
      "athanor_tensor_bytes",
      Meter.Type.GAUGE,
      "Bytes of resident tensors"),
  TENSOR_SPILLED_BYTES(
      "athanor.tensor.spilled.bytes",
      "athanor_tensor_spilled_bytes",
      Meter.Type.GAUGE,
      "Bytes of tensors that were moved to the host to make room"),
  INLINE_BYTES(
      "athanor.inline.bytes",
      "athanor_inline_bytes",
      Meter.Type.GAUGE,
      "Bytes of host memory that requests hold for tensors which come and go with them"),
  DEVICE_MEMORY(
      "athanor.device.memory.bytes",
      "athanor_device_memory_bytes",
      Meter.Type.GAUGE,
      "Memory of the device by state: used, free, pooled",
      "state"),
  QUEUE_DEPTH(
      "athanor.queue.depth",
      "athanor_queue_depth",
      Meter.Type.GAUGE,
      "Jobs that wait for a stream"),
  STREAMS_BUSY("athanor.streams.busy", "athanor_streams_busy", Meter.Type.GAUGE, "Streams at work"),
  READY(
      "athanor.ready",
      "athanor_ready",
      Meter.Type.GAUGE,
      "1 while the service is ready for work, else 0"),
  DEVICE_LOST(
      "athanor.device.lost",
      "athanor_device_lost",
      Meter.Type.GAUGE,
      "1 if the device is lost until the process restarts, else 0"),
  KERNEL_LOADS(
      "athanor.kernel.loads",
      "athanor_kernel_loads_total",
      Meter.Type.COUNTER,
      "Look-ups of kernels by where the code came from: hit, disk, compiled",
      "result"),
  FORWARDED_REQUESTS(
      "athanor.forwarded.requests",
      "athanor_forwarded_requests_total",
      Meter.Type.COUNTER,
      "Requests sent to other replicas, by outcome: answered, or the code of the failure",
      "outcome"),
  GPU_POWER(
      "athanor.gpu.power.watts",
      "athanor_gpu_power_watts",
      Meter.Type.GAUGE,
      "Power that the GPU draws"),
  GPU_POWER_LIMIT(
      "athanor.gpu.power.limit.watts",
      "athanor_gpu_power_limit_watts",
      Meter.Type.GAUGE,
      "Power that the GPU may draw"),
  GPU_UTILIZATION(
      "athanor.gpu.utilization.ratio",
      "athanor_gpu_utilization_ratio",
      Meter.Type.GAUGE,
      "Share of the last while in which a kernel ran, of whatever process"),
  GPU_MEMORY(
      "athanor.gpu.memory.bytes",
      "athanor_gpu_memory_bytes",
      Meter.Type.GAUGE,
      "Memory of the GPU by state: used, by whatever process, and total",
      "state"),
  GPU_TEMPERATURE(
      "athanor.gpu.temperature.celsius",
      "athanor_gpu_temperature_celsius",
      Meter.Type.GAUGE,
      "Temperature of the GPU"),
  GPU_SM_CLOCK(
      "athanor.gpu.sm.clock.hertz",
      "athanor_gpu_sm_clock_hertz",
      Meter.Type.GAUGE,
      "Clock of the GPU's multiprocessors"),
  GPU_THROTTLED(
      "athanor.gpu.throttled",
      "athanor_gpu_throttled",
      Meter.Type.GAUGE,
      "1 where this is a reason for clocks lower than they could be",
      "reason"),
  GPU_ENERGY(
      "athanor.gpu.energy.joules",
      "athanor_gpu_energy_joules_total",
      Meter.Type.COUNTER,
      "Energy that the GPU took since its driver was loaded"),
  GPU_ECC(
      "athanor.gpu.ecc.errors",
      "athanor_gpu_ecc_errors_total",
      Meter.Type.COUNTER,
      "Errors of the GPU's memory since its driver was loaded: corrected, uncorrected",
      "kind");

  private final String id;
  private final String exposed;
  private final Meter.Type type;
  private final String description;

  /** With spaces between them. */
  private final String labels;

  Meters(String id, String exposed, Meter.Type type, String description, String... labels) {
    this.id = id;
    this.exposed = exposed;
    this.type = type;
    this.description = description;
    this.labels = String.join(" ", labels);
  }

  String id() {
    return id;
  }

  /** The name on the Prometheus page; times are in seconds, sizes in bytes. */
  public String exposed() {
    return exposed;
  }

  public Meter.Type type() {
    return type;
  }

  public String description() {
    return description;
  }

  /** The labels besides {@code device}. */
  public List<String> labels() {
    return labels.isEmpty() ? List.of() : List.of(labels.split(" ", -1));
  }
}
