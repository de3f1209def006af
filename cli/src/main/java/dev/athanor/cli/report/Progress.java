package dev.athanor.cli.report;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

/**
 * Tells on standard error how far a long command has come: in one line that changes on a terminal,
 * and elsewhere now and then in a line of its own.
 */
public final class Progress implements AutoCloseable {

  private static final Duration ON_TERMINAL = Duration.ofMillis(100);
  private static final Duration ELSEWHERE = Duration.ofSeconds(10);

  private final PrintWriter err;
  private final boolean terminal;
  private long last = System.nanoTime();
  private int shown;

  public Progress(PrintWriter err) {
    this(err, errorIsTerminal());
  }

  public Progress(PrintWriter err, boolean terminal) {
    this.err = err;
    this.terminal = terminal;
  }

  /** Java knows a console only where input and output are terminals too, so Linux is asked. */
  private static boolean errorIsTerminal() {
    try {
      var device = Files.readSymbolicLink(Path.of("/proc/self/fd/2")).toString();
      return device.startsWith("/dev/pts/") || device.startsWith("/dev/tty");
    } catch (IOException e) {
      return false;
    }
  }

  /** Says where the work is, if it is time to. */
  public void at(int done, int total, String what) {
    var pause = terminal ? ON_TERMINAL : ELSEWHERE;
    if (System.nanoTime() - last < pause.toNanos()) {
      return;
    }
    last = System.nanoTime();
    var line = "%d of %d: %s".formatted(done, total, what);
    if (terminal) {
      var fitting = line.length() > 79 ? line.substring(0, 79) : line;
      err.print("\r" + fitting + " ".repeat(Math.max(0, shown - fitting.length())));
      shown = fitting.length();
    } else {
      err.println(line);
    }
    err.flush();
  }

  /** Leaves the terminal without the line. */
  @Override
  public void close() {
    if (shown > 0) {
      err.print("\r" + " ".repeat(shown) + "\r");
      err.flush();
      shown = 0;
    }
  }
}
