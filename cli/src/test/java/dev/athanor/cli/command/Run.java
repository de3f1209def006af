package dev.athanor.cli.command;

import java.io.PrintWriter;
import java.io.StringWriter;
import picocli.CommandLine;

/** The result of a command. */
record Run(int status, String out, String err) {

  static Run of(CommandLine command, String... arguments) {
    var out = new StringWriter();
    var err = new StringWriter();
    int status =
        command.setOut(new PrintWriter(out)).setErr(new PrintWriter(err)).execute(arguments);
    return new Run(status, out.toString(), err.toString());
  }
}
