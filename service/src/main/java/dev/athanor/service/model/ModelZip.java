package dev.athanor.service.model;

import dev.athanor.service.codec.ByteSource;
import dev.athanor.service.codec.Tensors;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import java.io.EOFException;
import java.io.IOException;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import java.util.zip.ZipException;
import java.util.zip.ZipInputStream;

/** Unpacks a zip file from a client while it arrives. Nothing in it is trusted. */
final class ModelZip {

  /** Maximum number of entries. */
  static final int MOST_ENTRIES = 1_000;

  private static final int MOST_LETTERS = 255;
  private static final int BUFFER = 1 << 13;

  private final ZipInputStream zip;
  private final long limit;
  private final Set<String> names = new HashSet<>();
  private final Set<String> folders = new HashSet<>();
  private long unpacked;

  private ModelZip(ByteSource body, long limit) {
    zip = new ZipInputStream(body);
    this.limit = limit;
  }

  /**
   * Unpacks a zip file.
   *
   * @param limit maximum number of unpacked bytes
   * @throws Failure.Refused with {@code malformed-body} or {@code too-large}
   */
  static void unpack(ByteSource body, long limit, Incoming files) throws IOException {
    new ModelZip(body, limit).unpack(files);
  }

  private void unpack(Incoming files) throws IOException {
    try {
      int entries = 0;
      for (var entry = zip.getNextEntry(); entry != null; entry = zip.getNextEntry()) {
        if (++entries > MOST_ENTRIES) {
          throw malformed("the zip has more than %d entries".formatted(MOST_ENTRIES));
        }
        if (entry.isDirectory()) {
          skip();
        } else {
          files.add(checked(entry.getName()), content());
        }
      }
    } catch (ZipException | EOFException e) {
      throw malformed("the zip is damaged: " + e.getMessage());
    }
    if (names.isEmpty()) {
      throw malformed("the body is not a zip with files");
    }
  }

  private void skip() throws IOException {
    var buffer = new byte[BUFFER];
    var content = content();
    while (content.read(buffer) >= 0) {}
  }

  private ByteSource content() {
    return new ByteSource() {
      @Override
      public int read(byte[] target, int offset, int length) throws IOException {
        int n = zip.read(target, offset, length);
        unpacked += Math.max(n, 0);
        if (unpacked > limit) {
          throw new Failure.Refused(
              Code.TOO_LARGE,
              "the files of the zip have more than %d bytes, which is the limit".formatted(limit));
        }
        return n;
      }
    };
  }

  private String checked(String name) {
    boolean isSafe =
        name.length() <= MOST_LETTERS
            && name.chars().noneMatch(c -> c == '\\' || c == ':' || Character.isISOControl(c))
            && Arrays.stream(name.split("/", -1))
                .noneMatch(part -> part.isEmpty() || part.equals(".") || part.equals(".."))
            && !name.equals(ModelStorage.METADATA);
    if (!isSafe) {
      throw malformed(
          "the zip has the entry \"%s\"; a name is a relative path of at most %d letters without \"..\", backslashes and colons, and not %s"
              .formatted(Tensors.excerpt(name), MOST_LETTERS, ModelStorage.METADATA));
    }
    boolean isNew = names.add(name) && !folders.contains(name);
    for (int at = name.lastIndexOf('/'); at >= 0; at = name.lastIndexOf('/', at - 1)) {
      folders.add(name.substring(0, at));
      isNew &= !names.contains(name.substring(0, at));
    }
    if (!isNew) {
      throw malformed("the zip has two entries \"%s\"".formatted(Tensors.excerpt(name)));
    }
    return name;
  }

  private static Failure malformed(String message) {
    return new Failure.Refused(Code.MALFORMED_BODY, message);
  }
}
