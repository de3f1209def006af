package dev.athanor.engine.analysis;

import dev.athanor.engine.natives.Platform;
import dev.athanor.engine.ptx.Target;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;

/**
 * A child process that runs NVIDIA's PTX compiler library, so that a crash of the library does not
 * end this process. It answers one request at a time and exits when its input ends, at the latest
 * with this process.
 */
final class PtxCompilerProcess {

  private static final Pattern SIGNAL = Pattern.compile("\\bSIG[A-Z]+");

  private final Process process;
  private final DataInputStream in;
  private final DataOutputStream out;
  private final String version;

  private PtxCompilerProcess(Process process) throws IOException {
    this.process = process;
    in = new DataInputStream(process.getInputStream());
    out = new DataOutputStream(new BufferedOutputStream(process.getOutputStream()));
    version = in.readUTF();
  }

  /**
   * An answer of the library.
   *
   * @param log the log of errors if the library refused the text, else the verbose log
   * @param cubin empty if the library refused the text
   */
  @SuppressWarnings("ArrayRecordComponent") // a result to read, never a key
  record Answer(boolean accepted, String log, byte[] cubin) {}

  /**
   * Starts a process.
   *
   * @throws IOException if it cannot be started or cannot load the library
   */
  static PtxCompilerProcess start() throws IOException {
    var builder =
        new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "-Xss64m", // of the main thread: large kernels recurse deeply
            // A crash leaves no files and prints a short report.
            "-XX:-CreateCoredumpOnCrash",
            "-XX:ErrorFile=" + (Platform.CURRENT.isWindows() ? "NUL" : "/dev/null"),
            "--enable-native-access=ALL-UNNAMED",
            "-Djava.library.path=" + System.getProperty("java.library.path", ""),
            "-Djava.io.tmpdir=" + System.getProperty("java.io.tmpdir"),
            "-cp",
            System.getProperty("java.class.path"),
            PtxCompilerMain.class.getName());
    builder.environment().keySet().removeAll(List.of("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"));
    var process = builder.start();
    try {
      return new PtxCompilerProcess(process);
    } catch (IOException e) {
      var output = new String(process.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
      process.destroyForcibly();
      throw new IOException("the process of the PTX compiler library ended: " + output.strip(), e);
    }
  }

  /** Returns the version of the library, such as {@code 12.0}. */
  String version() {
    return version;
  }

  /**
   * Assembles a module.
   *
   * @throws IOException if the process ends; the message is the signal or the exit status
   */
  Answer assemble(byte[] ptx, Target target) throws IOException {
    try {
      out.writeUTF(target.toString());
      out.writeInt(ptx.length);
      out.write(ptx);
      out.flush();
      int kind = in.read();
      if (kind == PtxCompilerMain.ACCEPTED || kind == PtxCompilerMain.REFUSED) {
        var log = new String(in.readNBytes(in.readInt()), StandardCharsets.UTF_8);
        return new Answer(kind == PtxCompilerMain.ACCEPTED, log, in.readNBytes(in.readInt()));
      }
    } catch (IOException e) {
      throw new IOException(end(), e);
    }
    throw new IOException(end()); // the JVM reports crashes on standard output
  }

  /** Waits for the end of a process that broke off, and describes it. */
  private String end() throws IOException {
    var output = new String(in.readAllBytes(), StandardCharsets.UTF_8);
    int status = process.onExit().join().exitValue();
    var signal = SIGNAL.matcher(output);
    return signal.find() ? signal.group() : "exit status " + status;
  }
}
