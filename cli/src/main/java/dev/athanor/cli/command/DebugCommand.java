package dev.athanor.cli.command;

import dev.athanor.cli.debug.DebugServer;
import dev.athanor.cli.report.Build;
import java.io.IOException;
import java.net.BindException;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code athanor debug}. */
@Command(
    name = "debug",
    description = {
      "Debugs kernels on the emulator: a server of the Debug Adapter Protocol for VS Code,",
      "IntelliJ and other editors. Without --port it serves one session on standard input and output.",
      "Example: athanor debug --port 4711"
    },
    mixinStandardHelpOptions = true,
    versionProvider = Build.Provider.class)
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class DebugCommand implements Callable<Integer> {

  private static final int LAST_PORT = 65_535;

  @Spec private CommandSpec spec;

  @Option(
      names = "--port",
      paramLabel = "PORT",
      description =
          "serves sessions on a port of the loopback interface until stopped; 0 = any free port")
  private @Nullable Integer port;

  @Override
  public Integer call() throws IOException {
    if (port == null) {
      var out = System.out;
      System.setOut(System.err); // only messages of the protocol go to standard output
      DebugServer.serve(System.in, out);
      return CommandLine.ExitCode.OK;
    }
    if (port < 0 || port > LAST_PORT) {
      throw new ParameterException(
          spec.commandLine(), "--port %d: expected a port from 0 to %d".formatted(port, LAST_PORT));
    }
    try (var server = new DebugServer(port)) {
      var out = spec.commandLine().getOut();
      out.printf("Listening for debug clients on 127.0.0.1:%d%n", server.port());
      out.flush();
      server.serve();
      return CommandLine.ExitCode.OK;
    } catch (BindException e) {
      spec.commandLine()
          .getErr()
          .printf(
              "athanor debug: port %d is in use; stop the program that uses it or choose another port with --port%n",
              port);
      return CommandLine.ExitCode.SOFTWARE;
    }
  }
}
