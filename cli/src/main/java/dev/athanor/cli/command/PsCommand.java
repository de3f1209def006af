package dev.athanor.cli.command;

import dev.athanor.cli.client.OpRequests;
import dev.athanor.cli.client.ServiceOption;
import dev.athanor.cli.report.Build;
import dev.athanor.cli.report.ResultFile;
import dev.athanor.cli.report.Table;
import dev.athanor.client.DeviceInfo;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code athanor ps}. */
@Command(
    name = "ps",
    description = {
      "Prints the running and waiting jobs of each device, and the requests by op.",
      "A service counts its requests but does not list them; the counts begin with its start.",
      "Needs the scope metrics."
    },
    mixinStandardHelpOptions = true,
    versionProvider = Build.Provider.class)
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class PsCommand implements Callable<Integer> {

  @Spec private CommandSpec spec;

  @Mixin private ServiceOption service;

  @Option(names = "--json", description = "prints JSON")
  private boolean json;

  private record Jobs(String device, int running, int waiting) {
    static Jobs of(DeviceInfo device) {
      return new Jobs(device.id(), device.streamsBusy(), device.queueDepth());
    }
  }

  private record Report(List<Jobs> devices, List<OpRequests> ops) {}

  @Override
  public Integer call() {
    Report report;
    try (var athanor = service.connect()) {
      report =
          new Report(
              athanor.devices().stream().map(Jobs::of).toList(),
              OpRequests.parse(athanor.metrics()));
    }
    var out = spec.commandLine().getOut();
    if (json) {
      out.println(ResultFile.json(report));
    } else {
      var devices = new Table("device", "running", "waiting");
      for (var jobs : report.devices) {
        devices.add(jobs.device, Integer.toString(jobs.running), Integer.toString(jobs.waiting));
      }
      devices.text().forEach(out::println);
      var ops = new Table("op", "requests", "failed");
      for (var op : report.ops) {
        ops.add(op.op(), Long.toString(op.requests()), Long.toString(op.failed()));
      }
      out.println();
      ops.text().forEach(out::println);
    }
    out.flush();
    return CommandLine.ExitCode.OK;
  }
}
