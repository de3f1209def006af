package dev.athanor.spark;

import dev.athanor.engine.Devices;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.ops.KernelCache;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.SparkContext;
import org.apache.spark.resource.ResourceInformation;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A device of this executor, opened by the first task that needs it and shared by all tasks. It
 * stays open until the executor ends; in local mode, where the driver is the executor, until the
 * Spark application ends.
 */
final class ExecutorDevice {
  private static final Logger LOG = LoggerFactory.getLogger(ExecutorDevice.class);

  private static final Map<String, ExecutorDevice> OPEN = new HashMap<>();
  private static final Set<String> APPLICATIONS = ConcurrentHashMap.newKeySet();

  private final String name;
  private final Device device;
  private final KernelCache kernels;
  private final ResidentMatrices matrices;

  // guarded by OPEN
  private int users;
  private boolean retired;

  private ExecutorDevice(String name, Duration idle) {
    this.name = name;
    var opened = Devices.open(name);
    device = opened.device();
    kernels = new KernelCache(device);
    matrices = new ResidentMatrices(device, idle);
    var capability = device.capability();
    if (name.startsWith("cuda")) {
      LOG.info("Opened {} ({}).", capability.id(), capability.name());
    } else {
      LOG.warn(
          "Spark assigned no GPU to this task, so it runs on the slow emulator. To use GPUs, set"
              + " spark.executor.resource.gpu.amount and spark.task.resource.gpu.amount.");
    }
  }

  /**
   * Returns the device for a task: the first GPU that Spark assigned to it, else the emulator.
   *
   * @throws IllegalArgumentException if the GPU's address is not a number
   */
  static String name(Map<String, ResourceInformation> resources) {
    var gpu = resources.get("gpu");
    if (gpu == null || gpu.addresses().length == 0) {
      return "emulator";
    }
    var address = gpu.addresses()[0];
    if (!address.matches("\\d{1,3}")) {
      throw new IllegalArgumentException(
          "Spark assigned the GPU \"%s\" to this task, but its address must be a number such as 0. Let the script of spark.executor.resource.gpu.discoveryScript print device numbers."
              .formatted(address));
    }
    return "cuda:" + address;
  }

  /**
   * Returns the device with the given name, and opens it if necessary.
   *
   * @param idle idle time after which unused matrices are freed; the first caller's value applies
   * @return the device; the caller must {@link #release} it
   */
  static ExecutorDevice acquire(String name, Duration idle) {
    synchronized (OPEN) {
      var device = OPEN.computeIfAbsent(name, _ -> new ExecutorDevice(name, idle));
      device.users++;
      return device;
    }
  }

  /** Ends a task's use of the device. */
  void release() {
    synchronized (OPEN) {
      users--;
      closeIfUnused();
    }
  }

  /**
   * Retires the device, so that the next task reopens it. It is closed when its last task releases
   * it.
   */
  void retire() {
    synchronized (OPEN) {
      OPEN.remove(name, this);
      retired = true;
      closeIfUnused();
    }
  }

  private void closeIfUnused() {
    if (retired && users == 0) {
      try {
        matrices.close();
        device.close();
      } catch (DeviceException e) {
        LOG.warn("Device {} could not be closed: {}", name, e.getMessage());
      }
    }
  }

  /** Retires all devices of this JVM. */
  static void retireAll() {
    synchronized (OPEN) {
      List.copyOf(OPEN.values()).forEach(ExecutorDevice::retire);
    }
  }

  /** Frees a matrix on all devices of this JVM as soon as no task uses it. */
  static void forget(String matrix) {
    synchronized (OPEN) {
      OPEN.values().forEach(device -> device.matrices.forget(matrix));
    }
  }

  /** Retires the devices of this JVM when an application in local mode ends. */
  static void closeWith(SparkContext context) {
    var application = context.applicationId();
    if (context.isLocal() && APPLICATIONS.add(application)) {
      context.addSparkListener(
          new SparkListener() {
            @Override
            public void onApplicationEnd(SparkListenerApplicationEnd end) {
              APPLICATIONS.remove(application);
              retireAll();
            }
          });
    }
  }

  Device device() {
    return device;
  }

  KernelCache kernels() {
    return kernels;
  }

  ResidentMatrices matrices() {
    return matrices;
  }
}
