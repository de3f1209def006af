package dev.athanor.engine.conformance;

import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.ptx.Target;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.zip.DataFormatException;
import java.util.zip.Deflater;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;
import java.util.zip.Inflater;

/**
 * The recorded results of a device for a probe, against which the emulator is tested where no
 * device is available. If an instruction is exact and device and emulator agreed, only a digest is
 * recorded.
 *
 * @param name name of the {@link Probe}
 * @param seed seed of its operands
 * @param digest digest of the defined results, in hexadecimal
 * @param results results of all threads; empty if the digest suffices
 */
public record Golden(String name, long seed, String digest, List<Long> results) {

  private static final int DIGEST_BYTES = 16;

  public Golden {
    results = List.copyOf(results);
  }

  static Golden of(Probe probe, long seed, long[] sources, long[] expected, long[] results) {
    var digest = digest(probe, sources, results);
    boolean enough =
        Tolerance.of(probe.instruction()).isExact()
            && digest.equals(digest(probe, sources, expected));
    return new Golden(
        probe.name(), seed, digest, enough ? List.of() : Arrays.stream(results).boxed().toList());
  }

  private static String digest(Probe probe, long[] sources, long[] results) {
    var tolerance = Tolerance.of(probe.instruction());
    int count = probe.results().size();
    int perThread = probe.sources().size();
    var bytes = ByteBuffer.allocate(results.length * Probe.WORD);
    for (int at = 0; at < results.length; at++) {
      boolean covered = tolerance.isDefined(probe, sources, at / count * perThread);
      bytes.putLong(covered ? results[at] : 0);
    }
    try {
      var hash = MessageDigest.getInstance("SHA-256").digest(bytes.array());
      return HexFormat.of().formatHex(hash, 0, DIGEST_BYTES);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e); // every JVM has SHA-256
    }
  }

  /**
   * Compares the emulator with goldens.
   *
   * @param target target of the device that recorded them
   * @throws IllegalArgumentException if the table lacks the instruction or the number of results
   *     differs
   */
  static List<Finding> check(List<Golden> goldens, Target target, EmulatedDevice emulator) {
    Map<String, Probe> byName =
        Probe.all(target).stream().collect(Collectors.toMap(Probe::name, Function.identity()));
    var findings = new ArrayList<Finding>();
    for (var golden : goldens) {
      var probe = byName.get(golden.name);
      if (probe == null) {
        throw new IllegalArgumentException(
            "golden of unknown instruction \"%s\"".formatted(golden.name));
      }
      findings.add(golden.check(probe, target, emulator));
    }
    return findings;
  }

  private Finding check(Probe probe, Target target, EmulatedDevice emulator) {
    var values = new OperandGenerator(probe, seed);
    var sources = values.generate();
    var kernel = emulator.load(Probe.module(List.of(probe), target), Probe.kernelName(0));
    var emulated = new ProbeRunner(emulator).run(probe, kernel, values.threads(), sources);
    if (!results.isEmpty()) {
      if (results.size() != emulated.length) {
        throw new IllegalArgumentException(
            "the golden of \"%s\" has %d results, expected %d"
                .formatted(name, results.size(), emulated.length));
      }
      var recorded = results.stream().mapToLong(Long::longValue).toArray();
      return Conformance.compare(probe, values.threads(), sources, emulated, recorded);
    }
    boolean same = digest.equals(digest(probe, sources, emulated));
    return new Finding(
        probe,
        emulated.length,
        same ? emulated.length : 0,
        same ? 0 : emulated.length,
        0,
        List.of(),
        same ? "" : "the digest of the results differs from the device's, " + digest);
  }

  // file format: origin, target, then a line per golden

  /** Writes goldens and their origin to a file, compressed if its name ends in {@code .gz}. */
  public static void write(Path file, Target target, String origin, List<Golden> goldens)
      throws IOException {
    try (var bytes = Files.newOutputStream(file);
        var out =
            new OutputStreamWriter(
                isCompressed(file) ? new GZIPOutputStream(bytes) : bytes, StandardCharsets.UTF_8)) {
      out.write("# " + origin + "\n");
      out.write(target + "\n");
      for (var golden : goldens) {
        out.write(
            String.join(
                    "\t",
                    golden.name,
                    Long.toString(golden.seed),
                    golden.digest,
                    compress(golden.results))
                + "\n");
      }
    }
  }

  /**
   * A file of goldens.
   *
   * @param target target of the device
   * @param origin device, driver and date
   */
  public record File(Target target, String origin, List<Golden> goldens) {
    public File {
      goldens = List.copyOf(goldens);
    }

    /** Compares the emulator with all goldens. */
    public List<Finding> check(EmulatedDevice emulator) {
      return Golden.check(goldens, target, emulator);
    }
  }

  /**
   * Reads a file written by {@link #write}.
   *
   * @throws IOException if the file cannot be read or is malformed; the message gives the position
   */
  public static File read(Path file) throws IOException {
    try (var bytes = Files.newInputStream(file);
        var in =
            new BufferedReader(
                new InputStreamReader(
                    isCompressed(file) ? new GZIPInputStream(bytes) : bytes,
                    StandardCharsets.UTF_8))) {
      var origin = line(in, file);
      var target = line(in, file);
      var goldens = new ArrayList<Golden>();
      int number = 2;
      for (var line = in.readLine(); line != null; line = in.readLine()) {
        number++;
        var cells = line.split("\t", -1);
        if (cells.length != 4) {
          throw new IOException(
              "%s:%d has %d cells, expected 4".formatted(file, number, cells.length));
        }
        goldens.add(new Golden(cells[0], Long.parseLong(cells[1]), cells[2], decompress(cells[3])));
      }
      return new File(Target.of(target), origin.substring(1).strip(), goldens);
    } catch (IllegalArgumentException | DataFormatException e) {
      throw new IOException(file + " is not a file of goldens: " + e.getMessage(), e);
    }
  }

  private static boolean isCompressed(Path file) {
    return file.toString().endsWith(".gz");
  }

  private static String line(BufferedReader in, Path file) throws IOException {
    var line = in.readLine();
    if (line == null || line.isEmpty()) {
      throw new IOException(file + " is not a file of goldens: its header is missing");
    }
    return line;
  }

  private static String compress(List<Long> results) {
    if (results.isEmpty()) {
      return "";
    }
    var bytes = ByteBuffer.allocate(results.size() * Probe.WORD);
    results.forEach(bytes::putLong);
    try (var deflater = new Deflater(Deflater.BEST_COMPRESSION)) {
      deflater.setInput(bytes.array());
      deflater.finish();
      var packed = new byte[bytes.capacity() + 64];
      int size = deflater.deflate(packed);
      return results.size() + ":" + Base64.getEncoder().encodeToString(Arrays.copyOf(packed, size));
    }
  }

  private static List<Long> decompress(String text) throws DataFormatException {
    if (text.isEmpty()) {
      return List.of();
    }
    var parts = text.split(":", 2);
    var bytes = new byte[Integer.parseInt(parts[0]) * Probe.WORD];
    try (var inflater = new Inflater()) {
      inflater.setInput(Base64.getDecoder().decode(parts[1]));
      int size = inflater.inflate(bytes);
      if (size != bytes.length) {
        throw new DataFormatException("%d bytes, expected %d".formatted(size, bytes.length));
      }
    }
    var results = new ArrayList<Long>();
    for (var words = ByteBuffer.wrap(bytes).asLongBuffer(); words.hasRemaining(); ) {
      results.add(words.get());
    }
    return results;
  }
}
