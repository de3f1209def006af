package dev.athanor.engine.lift;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.Graph;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.device.Stream;
import dev.athanor.engine.lift.emit.KernelEmitter;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A queue of launches of Java kernels, which run in the order in which they were enqueued while the
 * host goes on. Failed checks are thrown by {@link #synchronize}. One thread at a time may use it.
 */
public final class KernelStream implements AutoCloseable {
  private final Device device;
  private final Stream stream;
  private final FaultRecords records;

  /** Arrays that captured launches use; null unless launches are captured. */
  private final @Nullable Set<DeviceArray<?>> captured;

  /** Graphs that were launched since the last check. */
  private final Set<KernelGraph> graphs = new LinkedHashSet<>();

  private boolean closed;

  private KernelStream(
      Device device, Stream stream, FaultRecords records, @Nullable Set<DeviceArray<?>> captured) {
    this.device = device;
    this.stream = stream;
    this.records = records;
    this.captured = captured;
  }

  /** Opens a stream, independent of others. */
  public static KernelStream open(Device device) {
    var stream = device.openStream();
    return new KernelStream(device, stream, new FaultRecords(device, stream), null);
  }

  /**
   * Captures launches as a graph instead of running them. Enqueuing the graph takes about as much
   * time as one launch.
   *
   * @param launches enqueues launches on the stream that it is given, and on no other
   * @throws UnsupportedOperationException if the device does not support graphs
   * @see Device#capture
   */
  public static KernelGraph capture(Device device, Consumer<KernelStream> launches) {
    var arrays = new LinkedHashSet<DeviceArray<?>>();
    try (var clearing = device.openStream()) {
      var records = new FaultRecords(device, clearing);
      try {
        var graph =
            device.capture(
                stream -> launches.accept(new KernelStream(device, stream, records, arrays)));
        clearing.synchronize();
        return new KernelGraph(graph, records, List.copyOf(arrays));
      } catch (RuntimeException e) {
        records.close();
        throw e;
      }
    }
  }

  /** Returns the underlying stream, for events and copies of buffers. */
  public Stream stream() {
    return stream;
  }

  Device device() {
    return device;
  }

  /** Enqueues a launch of a lifted kernel. */
  void launch(
      CompiledKernel code, LaunchArguments passed, Function<List<Argument>, Launch> launch) {
    if (closed) {
      throw new IllegalStateException("the stream is closed");
    }
    if (captured == null && records.isFull()) {
      synchronize();
    }
    use(passed.deviceArrays());
    if (code.reportsFaults()) {
      passed.put(KernelEmitter.FAULT, records.add(code));
    }
    var prepared = launch.apply(passed.list(code.kernel()));
    try {
      stream.launch(prepared);
    } catch (DeviceException.KernelFault e) {
      throw explain(e);
    }
  }

  /** Enqueues a graph. */
  void launch(KernelGraph owner, Graph graph) {
    use(owner.arrays());
    try {
      graph.launch(stream);
      graphs.add(owner);
    } catch (DeviceException.KernelFault e) {
      graphs.add(owner);
      throw explain(e);
    }
  }

  private void use(Iterable<DeviceArray<?>> arrays) {
    for (var array : arrays) {
      if (captured == null) {
        array.useOn(this);
      } else {
        captured.add(array);
      }
    }
  }

  /**
   * Waits until all work has completed.
   *
   * @throws CheckFailedException if a check of a launch failed, with those of other graphs
   *     suppressed
   * @throws DeviceException if work failed otherwise
   */
  public void synchronize() {
    try {
      stream.synchronize();
      check(stream, null);
    } catch (DeviceException.KernelFault e) {
      throw explain(e);
    }
  }

  /** Throws the failed check that explains a fault, or else returns the fault. */
  private DeviceException explain(DeviceException.KernelFault fault) {
    // the fault has ended the work of its stream
    try (var other = device.openStream()) {
      check(other, fault);
    } catch (DeviceException e) {
      e.addSuppressed(fault);
      return e;
    }
    return fault;
  }

  /** Throws the failed check of a launch, if there is one. */
  private void check(Stream reading, DeviceException.@Nullable KernelFault fault) {
    var failed = records.check(reading).orElse(null);
    records.reuse();
    for (var graph : graphs) {
      var ofGraph = graph.records().check(reading).orElse(null);
      if (failed == null) {
        failed = ofGraph;
      } else if (ofGraph != null) {
        failed.addSuppressed(ofGraph);
      }
    }
    graphs.clear();
    if (failed != null) {
      if (fault != null) {
        failed.addSuppressed(fault);
      }
      throw failed;
    }
  }

  /** Waits for all work, unless the stream is closed. */
  void finish() {
    if (!closed) {
      synchronize();
    }
  }

  /** Makes later work of this stream wait for the work that another one holds now. */
  void awaitWorkOf(KernelStream other) {
    if (!other.closed) {
      try (var event = other.stream.record()) {
        stream.await(event);
      }
    }
  }

  /**
   * Waits for the work and closes the stream.
   *
   * @throws CheckFailedException if a check failed since the last call of {@link #synchronize}
   */
  @Override
  public void close() {
    if (!closed) {
      closed = true;
      try (stream;
          records) {
        synchronize();
      }
    }
  }
}
