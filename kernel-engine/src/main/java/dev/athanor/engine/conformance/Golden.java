package dev.athanor.engine.conformance;

import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.ptx.Target;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.ByteBuffer;
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
import java.util.zip.Inflater;

/**
 * What a device answered to a probe, kept so that the emulator can be held to it where there is no
 * device. Of an instruction that is exact, and on which both agreed, a digest is enough; of others
 * the answers themselves are kept.
 *
 * @param name of the {@link Probe}
 * @param seed of its operands
 * @param digest of the answers for which the manual promises something, in hexadecimal
 * @param answers of all threads; empty where the digest is enough
 */
public record Golden(String name, long seed, String digest, List<Long> answers) {

  private static final int DIGEST_BYTES = 16;

  public Golden {
    answers = List.copyOf(answers);
  }

  static Golden of(Probe probe, long seed, long[] sources, long[] wanted, long[] answers) {
    var digest = digest(probe, sources, answers);
    boolean enough =
        Tolerance.of(probe.instruction()).isExact()
            && digest.equals(digest(probe, sources, wanted));
    return new Golden(
        probe.name(), seed, digest, enough ? List.of() : Arrays.stream(answers).boxed().toList());
  }

  private static String digest(Probe probe, long[] sources, long[] answers) {
    var tolerance = Tolerance.of(probe.instruction());
    int count = probe.results().size();
    int perThread = probe.sources().size();
    var bytes = ByteBuffer.allocate(answers.length * Probe.WORD);
    for (int at = 0; at < answers.length; at++) {
      boolean covered = tolerance.covers(probe, sources, at / count * perThread);
      bytes.putLong(covered ? answers[at] : 0);
    }
    try {
      var hash = MessageDigest.getInstance("SHA-256").digest(bytes.array());
      return HexFormat.of().formatHex(hash, 0, DIGEST_BYTES);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e); // every Java has it
    }
  }

  /**
   * Compares the emulator with these answers.
   *
   * @param target of the device that gave them
   * @throws IllegalArgumentException when the table has not the instruction any more, or not the
   *     number of answers
   */
  static List<Finding> check(List<Golden> goldens, Target target, EmulatedDevice emulator) {
    Map<String, Probe> byName =
        Probe.all(target).stream().collect(Collectors.toMap(Probe::name, Function.identity()));
    var findings = new ArrayList<Finding>();
    for (var golden : goldens) {
      var probe = byName.get(golden.name);
      if (probe == null) {
        throw new IllegalArgumentException(
            "a golden is of \"%s\", which the table has not".formatted(golden.name));
      }
      findings.add(golden.check(probe, target, emulator));
    }
    return findings;
  }

  private Finding check(Probe probe, Target target, EmulatedDevice emulator) {
    var values = new Values(probe, seed);
    var sources = values.draw();
    var kernel = emulator.load(Probe.module(List.of(probe), target), Probe.kernelName(0));
    var ours = new Run(emulator).of(probe, kernel, values.threads(), sources);
    if (!answers.isEmpty()) {
      if (answers.size() != ours.length) {
        throw new IllegalArgumentException(
            "the golden of \"%s\" has %d answers, there are %d"
                .formatted(name, answers.size(), ours.length));
      }
      var theirs = answers.stream().mapToLong(Long::longValue).toArray();
      return Conformance.compare(probe, values.threads(), sources, ours, theirs);
    }
    boolean same = digest.equals(digest(probe, sources, ours));
    return new Finding(
        probe,
        ours.length,
        same ? ours.length : 0,
        same ? 0 : ours.length,
        0,
        List.of(),
        same ? "" : "the answers' digest is not the device's, " + digest);
  }

  // the file: a target, then a line for each golden

  /** Writes goldens to a file, with what they are from. */
  public static void write(Path file, Target target, String origin, List<Golden> goldens)
      throws IOException {
    try (var out = Files.newBufferedWriter(file)) {
      out.write("# " + origin + "\n");
      out.write(target + "\n");
      for (var golden : goldens) {
        out.write(
            String.join(
                    "\t",
                    golden.name,
                    Long.toString(golden.seed),
                    golden.digest,
                    pack(golden.answers))
                + "\n");
      }
    }
  }

  /**
   * A file of goldens.
   *
   * @param target whose answers they are
   * @param origin device, driver and date
   */
  public record File(Target target, String origin, List<Golden> goldens) {
    public File {
      goldens = List.copyOf(goldens);
    }

    /** Compares the emulator with all of them. */
    public List<Finding> check(EmulatedDevice emulator) {
      return Golden.check(goldens, target, emulator);
    }
  }

  /**
   * Reads what {@link #write} wrote.
   *
   * @throws IOException when the file cannot be read or is not of this form, saying where
   */
  public static File read(Path file) throws IOException {
    try (var in = Files.newBufferedReader(file)) {
      var origin = line(in, file);
      var target = line(in, file);
      var goldens = new ArrayList<Golden>();
      int number = 2;
      for (var line = in.readLine(); line != null; line = in.readLine()) {
        number++;
        var cells = line.split("\t", -1);
        if (cells.length != 4) {
          throw new IOException(
              "%s:%d has %d cells, 4 are right".formatted(file, number, cells.length));
        }
        goldens.add(new Golden(cells[0], Long.parseLong(cells[1]), cells[2], unpack(cells[3])));
      }
      return new File(Target.of(target), origin.substring(1).strip(), goldens);
    } catch (IllegalArgumentException | DataFormatException e) {
      throw new IOException(file + " is no file of goldens: " + e.getMessage(), e);
    }
  }

  private static String line(BufferedReader in, Path file) throws IOException {
    var line = in.readLine();
    if (line == null || line.isEmpty()) {
      throw new IOException(file + " is no file of goldens: its head is missing");
    }
    return line;
  }

  private static String pack(List<Long> answers) {
    if (answers.isEmpty()) {
      return "";
    }
    var bytes = ByteBuffer.allocate(answers.size() * Probe.WORD);
    answers.forEach(bytes::putLong);
    try (var deflater = new Deflater(Deflater.BEST_COMPRESSION)) {
      deflater.setInput(bytes.array());
      deflater.finish();
      var packed = new byte[bytes.capacity() + 64];
      int size = deflater.deflate(packed);
      return answers.size() + ":" + Base64.getEncoder().encodeToString(Arrays.copyOf(packed, size));
    }
  }

  private static List<Long> unpack(String text) throws DataFormatException {
    if (text.isEmpty()) {
      return List.of();
    }
    var parts = text.split(":", 2);
    var bytes = new byte[Integer.parseInt(parts[0]) * Probe.WORD];
    try (var inflater = new Inflater()) {
      inflater.setInput(Base64.getDecoder().decode(parts[1]));
      int size = inflater.inflate(bytes);
      if (size != bytes.length) {
        throw new DataFormatException("%d bytes, %d are right".formatted(size, bytes.length));
      }
    }
    var answers = new ArrayList<Long>();
    for (var words = ByteBuffer.wrap(bytes).asLongBuffer(); words.hasRemaining(); ) {
      answers.add(words.get());
    }
    return answers;
  }
}
