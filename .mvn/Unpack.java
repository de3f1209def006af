import java.security.MessageDigest;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;

// Unpacks Maven, whose archive has one folder, for mvnw.cmd:
//
//     java Unpack.java ZIP SHA256 FOLDER
//
// FOLDER appears whole, and only if the archive has the digest.

void main(String[] args) throws Exception {
  Path zip = Path.of(args[0]);
  Path folder = Path.of(args[2]);
  String digest =
      HexFormat.of()
          .formatHex(MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(zip)));
  if (!digest.equals(args[1])) {
    System.err.println(
        "%s has the SHA-256 %s, not %s: the repository it came from has another file."
            .formatted(zip.getFileName(), digest, args[1]));
    System.exit(1);
  }
  Path unpacked = zip.resolveSibling("unpacked");
  try (var in = new ZipInputStream(Files.newInputStream(zip))) {
    for (ZipEntry entry = in.getNextEntry(); entry != null; entry = in.getNextEntry()) {
      Path name = Path.of(entry.getName());
      if (!entry.isDirectory()) {
        Path file = unpacked.resolve(name.subpath(1, name.getNameCount()));
        Files.createDirectories(file.getParent());
        Files.copy(in, file);
      }
    }
  }
  if (!Files.exists(folder)) {
    Files.move(unpacked, folder);
  }
}
