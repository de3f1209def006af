package dev.athanor.spark;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * Provides the session of a cluster to tests: a master and two workers in this JVM, and two
 * executors in separate JVMs. The cluster is stopped after the last test.
 */
final class SparkCluster implements ParameterResolver {

  /** Idle time after which unused matrices are freed. */
  private static final Duration IDLE = Duration.ofSeconds(1);

  @Override
  public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
    return parameter.getParameter().getType() == SparkSession.class;
  }

  @Override
  public SparkSession resolveParameter(ParameterContext parameter, ExtensionContext context) {
    return context
        .getRoot()
        .getStore(Namespace.create(SparkCluster.class))
        .computeIfAbsent(Running.class, _ -> Running.start(), Running.class)
        .spark;
  }

  /** Returns the process ids of the executors. */
  static Set<Long> executors(SparkSession spark) {
    MapPartitionsFunction<Long, Long> pid = _ -> List.of(ProcessHandle.current().pid()).iterator();
    return new TreeSet<>(
        spark.range(0, 8, 1, 8).mapPartitions(pid, Encoders.LONG()).collectAsList());
  }

  /** The running cluster. */
  private record Running(SparkSession spark) implements AutoCloseable {

    static Running start() {
      var home = Path.of(System.getenv("SPARK_HOME"));
      try {
        // Spark's launcher searches for jars there; executors have the class path of the tests.
        Files.createDirectories(home.resolve("jars"));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
      var spark =
          SparkSession.builder()
              .master("local-cluster[2,1,2048]")
              .appName("tests")
              .config("spark.driver.host", "127.0.0.1")
              .config("spark.driver.bindAddress", "127.0.0.1")
              .config("spark.ui.enabled", false)
              // a slow machine must not lose executors
              .config("spark.network.timeout", "1h")
              .config("spark.worker.timeout", 3600)
              .config("spark.executor.memory", "1g")
              .config("spark.executor.extraClassPath", System.getProperty("java.class.path"))
              // short jobs: fast startup matters more than throughput
              .config("spark.executor.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
              .config("spark.sql.adaptive.enabled", false)
              .config("spark.local.dir", home.resolve("local").toString())
              .config("spark.sql.warehouse.dir", home.resolve("warehouse").toString())
              .config("spark.sql.shuffle.partitions", 2)
              .config("spark.task.maxFailures", 2)
              .config("spark.athanor.matrix.idle", IDLE.toSeconds() + "s")
              .getOrCreate();
      return new Running(spark);
    }

    @Override
    public void close() {
      var executors = executors(spark);
      spark.stop();
      for (long executor : executors) {
        ProcessHandle.of(executor).ifPresent(process -> process.onExit().join());
      }
      if (Files.notExists(Path.of(System.getenv("SPARK_HOME"), "work"))) {
        throw new IllegalStateException("The executors' work folder is not under SPARK_HOME.");
      }
    }
  }
}
