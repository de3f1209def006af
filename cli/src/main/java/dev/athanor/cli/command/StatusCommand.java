package dev.athanor.cli.command;

import dev.athanor.cli.client.ServiceOption;
import dev.athanor.cli.report.Build;
import dev.athanor.cli.report.ResultFile;
import dev.athanor.cli.report.Table;
import dev.athanor.client.DeviceInfo;
import dev.athanor.ops.bench.Units;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code athanor status}. */
@Command(
    name = "status",
    description = {
      "Prints the version, devices and tensors of a running service.",
      "Exit status 0: ready; 1: not ready, or not reachable.",
      "Needs the scopes metrics and tensors:read."
    },
    mixinStandardHelpOptions = true,
    versionProvider = Build.Provider.class)
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class StatusCommand implements Callable<Integer> {

  @Spec private CommandSpec spec;

  @Mixin private ServiceOption service;

  @Option(names = "--json", description = "prints JSON")
  private boolean json;

  private record Status(String url, String version, List<DeviceInfo> devices, int tensors) {}

  @Override
  public Integer call() {
    var url = service.url().toString();
    try (var athanor = service.connect()) {
      if (!athanor.ready()) {
        spec.commandLine()
            .getErr()
            .printf(
                "athanor status: the service at %s is not ready: it is starting or draining, or its device has failed%n",
                url);
        return CommandLine.ExitCode.SOFTWARE;
      }
      var status = new Status(url, athanor.version(), athanor.devices(), athanor.tensors().size());
      var out = spec.commandLine().getOut();
      if (json) {
        out.println(ResultFile.json(status));
      } else {
        out.printf("athanor %s at %s, %d tensors%n", status.version, url, status.tensors);
        table(status.devices).text().forEach(out::println);
      }
      out.flush();
    }
    return CommandLine.ExitCode.OK;
  }

  private static Table table(List<DeviceInfo> devices) {
    var table =
        new Table(
            "device", "name", "target", "health", "used", "pooled", "free", "waiting", "streams");
    for (var device : devices) {
      var memory = device.memory();
      table.add(
          device.id(),
          device.name(),
          device.target(),
          device.health(),
          Units.memory(memory.used()),
          Units.memory(memory.pooled()),
          Units.memory(memory.free()),
          Integer.toString(device.queueDepth()),
          "%d of %d busy".formatted(device.streamsBusy(), device.streams()));
    }
    return table;
  }
}
