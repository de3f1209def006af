import java.io.File;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.jar.JarFile;
import java.util.spi.ToolProvider;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

// Packs the service, a reduced Java runtime and native libraries into one archive, which runs
// without an installed Java. Maven's profile `bundle` runs this source file in the folder `cli`:
//
//     java src/bundle/java/Bundle.java JAR VERSION TIME OUT
//
// JAR is Spring Boot's executable jar, TIME the modification time of all files. The folder OUT
// receives athanor-VERSION-linux-x86_64.tar.xz, or athanor-VERSION-windows-x86_64.zip on Windows,
// and, for inspection, its contents under bundle/.
//
// Jars and runtime are stored uncompressed, because xz compresses the whole archive better.

enum Platform {
  LINUX("linux-x86_64.tar.xz", 60, ".so", "athanor", "launch.sh"),
  /** A zip compresses each file by itself. */
  WINDOWS("windows-x86_64.zip", 85, ".dll", "athanor.cmd", "launch.cmd");

  /** The end of the archive's name. */
  final String archive;

  final long largestMebibytes;

  /** The extension of native libraries. */
  final String library;

  final List<String> scripts;

  Platform(String archive, long largestMebibytes, String library, String... scripts) {
    this.archive = archive;
    this.largestMebibytes = largestMebibytes;
    this.library = library;
    this.scripts = List.of(scripts);
  }

  static Optional<Platform> of(String system, String architecture) {
    Optional<Platform> platform =
        system.equals("Linux")
            ? Optional.of(LINUX)
            : system.startsWith("Windows") ? Optional.of(WINDOWS) : Optional.empty();
    return platform.filter(_ -> architecture.equals("amd64"));
  }
}

/// Modules that no class file references: the management beans for the memory and CPU metrics, and
/// diagnostic tools.
static final String MODULES_BESIDES = "jdk.management,jdk.jfr,jdk.jcmd";

void main(String[] args) throws IOException, InterruptedException {
  Path jar = Path.of(args[0]).toAbsolutePath();
  String name = "athanor-" + args[1];
  String time = args[2];
  Path out = Path.of(args[3]).toAbsolutePath();
  String system = System.getProperty("os.name");
  String architecture = System.getProperty("os.arch");
  Platform platform = Platform.of(system, architecture).orElse(null);
  if (platform == null) {
    fail(
        "The bundle must be built on Linux or Windows on x86_64, because it includes the machine's JDK; this is "
            + system
            + " "
            + architecture
            + ".");
    return;
  }
  Path archive = out.resolve(name + "-" + platform.archive);
  Files.deleteIfExists(archive);
  delete(out.resolve("bundle"));
  Path home = out.resolve("bundle").resolve(name);
  Path lib = Files.createDirectories(home.resolve("lib"));

  Path jars = out.resolve("bundle/jars");
  String java = System.getProperty("java.home") + "/bin/java";
  run(java, "-Djarmode=tools", "-jar", jar, "extract", "--destination", jars, "--libraries", ".");
  for (Path packed : list(jars)) {
    if (packed.getFileName().toString().contains("-natives-")) {
      // On java.library.path, JCuda and LWJGL need not unpack them into a temporary folder, which
      // may not be writable.
      unpackLibraries(packed, platform.library, Files.createDirectories(home.resolve("native")));
    } else {
      store(packed, lib.resolve(packed.getFileName()));
    }
  }

  link(lib, home.resolve("runtime"));
  Files.createDirectory(home.resolve("bin"));
  for (String script : platform.scripts) {
    Files.copy(Path.of("src/bundle/bin", script), home.resolve("bin").resolve(script));
  }
  if (platform == Platform.LINUX) {
    Files.setPosixFilePermissions(
        home.resolve("bin/athanor"), PosixFilePermissions.fromString("rwxr-xr-x"));
  }
  Files.copy(Path.of("src/bundle/README.md"), home.resolve("README.md"));
  Files.copy(Path.of("../LICENSE"), home.resolve("LICENSE"));
  Files.createDirectory(home.resolve("examples"));
  for (Path example : list(Path.of("../examples"))) {
    // the projects and their list need a JDK
    if (Files.isRegularFile(example) && !example.endsWith("README.md")) {
      Files.copy(example, home.resolve("examples").resolve(example.getFileName()));
    }
  }
  delete(jars);
  addRepository(home, args[1], platform);

  if (platform == Platform.LINUX) {
    pack(home, time, archive);
  } else {
    zip(home, Instant.parse(time), archive);
  }
  long size = Files.size(archive);
  String sizeInWords =
      String.format(Locale.ROOT, "%s is %.1f MiB", archive.getFileName(), size / 0x1p20);
  if (size > platform.largestMebibytes << 20) {
    Files.delete(archive);
    fail(
        sizeInWords
            + "; the limit is "
            + platform.largestMebibytes
            + " MiB. Look for the growth in "
            + home
            + ".");
  }
  IO.println(sizeInWords);
}

/// Adds a Maven repository with the artifacts that projects of `athanor new` need. Jars that the
/// service includes are links, except on Windows, where few users may create links.
void addRepository(Path home, String version, Platform platform) throws IOException {
  Path group = Files.createDirectories(home.resolve("repository/dev/athanor"));
  for (String module :
      List.of("athanor", "athanor-engine", "ops", "athanor-junit", "athanor-maven-plugin")) {
    String name = module + "-" + version;
    Path folder = Files.createDirectories(group.resolve(module).resolve(version));
    String source =
        switch (module) {
          case "athanor" -> "..";
          case "athanor-engine" -> "../kernel-engine";
          case "athanor-junit" -> "../junit";
          case "athanor-maven-plugin" -> "../maven-plugin";
          default -> "../" + module;
        };
    Path flattened = Path.of(source, "target/.flattened-pom.xml");
    Files.copy(
        Files.exists(flattened) ? flattened : Path.of(source, "pom.xml"),
        folder.resolve(name + ".pom"));
    Path library = home.resolve("lib").resolve(name + ".jar");
    if (Files.exists(library) && platform == Platform.WINDOWS) {
      Files.copy(library, folder.resolve(name + ".jar"));
    } else if (Files.exists(library)) {
      Files.createSymbolicLink(folder.resolve(name + ".jar"), folder.relativize(library));
    } else if (!module.equals("athanor")) {
      store(Path.of(source, "target", name + ".jar"), folder.resolve(name + ".jar"));
    }
    for (Path file : list(folder)) {
      Files.writeString(file.resolveSibling(file.getFileName() + ".sha1"), sha1(file));
    }
  }
}

/// Returns the checksum that Maven compares.
String sha1(Path file) throws IOException {
  try {
    MessageDigest digest = MessageDigest.getInstance("SHA-1");
    return HexFormat.of().formatHex(digest.digest(Files.readAllBytes(file)));
  } catch (NoSuchAlgorithmException e) {
    throw new IllegalStateException(e);
  }
}

/// Copies a jar uncompressed. Keeps folder entries, without which Spring's component scan finds
/// nothing.
void store(Path from, Path to) throws IOException {
  try (JarFile in = new JarFile(from.toFile());
      ZipOutputStream out =
          new ZipOutputStream(new BufferedOutputStream(Files.newOutputStream(to)))) {
    for (ZipEntry packed : Collections.list(in.entries())) {
      ZipEntry stored = new ZipEntry(packed);
      stored.setMethod(ZipEntry.STORED);
      stored.setCompressedSize(packed.getSize());
      out.putNextEntry(stored);
      try (InputStream bytes = in.getInputStream(packed)) {
        bytes.transferTo(out);
      }
      out.closeEntry();
    }
  }
}

void unpackLibraries(Path jar, String extension, Path folder) throws IOException {
  try (JarFile in = new JarFile(jar.toFile())) {
    for (ZipEntry entry : Collections.list(in.entries())) {
      if (entry.getName().endsWith(extension)) {
        try (InputStream bytes = in.getInputStream(entry)) {
          Files.copy(bytes, folder.resolve(Path.of(entry.getName()).getFileName()));
        }
      }
    }
  }
}

/// Links the modules that the jars need into a runtime, without debug information and symbols.
void link(Path lib, Path runtime) throws IOException, InterruptedException {
  String classPath =
      list(lib).stream().map(Path::toString).collect(Collectors.joining(File.pathSeparator));
  String needed =
      tool(
          "jdeps",
          "--multi-release",
          "25",
          "--ignore-missing-deps",
          "--print-module-deps",
          "--class-path",
          classPath,
          lib.resolve("athanor.jar").toString());
  tool(
      "jlink",
      "--add-modules",
      needed + "," + MODULES_BESIDES,
      "--output",
      runtime.toString(),
      "--strip-debug",
      "--no-header-files",
      "--no-man-pages",
      "--compress",
      "zip-0");
  if (File.separatorChar == '\\') {
    return; // DLLs have no symbols
  }
  if (isOnPath("strip")) {
    try (Stream<Path> files = Files.walk(runtime)) {
      for (Path library : files.filter(file -> file.toString().endsWith(".so")).toList()) {
        run("strip", "-s", library);
      }
    }
  } else {
    IO.println(
        "No strip was found (it comes with binutils): the archive will be about a MiB larger.");
  }
}

/// Writes the archive reproducibly: sorted names, one modification time and no owner.
void pack(Path home, String time, Path archive) throws IOException, InterruptedException {
  for (String program : List.of("tar", "xz")) {
    if (!isOnPath(program)) {
      fail(
          "No "
              + program
              + " was found, which is needed to pack the bundle: install it (Debian, Ubuntu: apt-get install tar xz-utils).");
    }
  }
  List<ProcessBuilder> pipeline =
      List.of(
          new ProcessBuilder(
              "tar",
              "--create",
              "--format=gnu",
              "--sort=name",
              "--mtime=" + time,
              "--owner=0",
              "--group=0",
              "--numeric-owner",
              "--mode=a=rX,u+w",
              "--directory=" + home.getParent(),
              home.getFileName().toString()),
          new ProcessBuilder("xz", "--threads=0", "-6"));
  pipeline.forEach(step -> step.redirectError(ProcessBuilder.Redirect.INHERIT));
  pipeline.getLast().redirectOutput(archive.toFile());
  for (Process step : ProcessBuilder.startPipeline(pipeline)) {
    if (step.waitFor() != 0) {
      fail("The archive could not be written; see the output above.");
    }
  }
}

/// Writes the archive for Windows, as reproducibly.
void zip(Path home, Instant time, Path archive) throws IOException {
  List<Path> all;
  try (Stream<Path> files = Files.walk(home)) {
    all = files.filter(Files::isRegularFile).sorted().toList();
  }
  try (ZipOutputStream out =
      new ZipOutputStream(new BufferedOutputStream(Files.newOutputStream(archive)))) {
    out.setLevel(9);
    for (Path file : all) {
      String name = home.getParent().relativize(file).toString().replace(File.separatorChar, '/');
      ZipEntry entry = new ZipEntry(name);
      entry.setTimeLocal(LocalDateTime.ofInstant(time, ZoneOffset.UTC));
      out.putNextEntry(entry);
      Files.copy(file, out);
      out.closeEntry();
    }
  }
}

/// Runs a tool of the JDK in this process and returns its output.
String tool(String name, String... arguments) {
  StringWriter printed = new StringWriter();
  PrintWriter out = new PrintWriter(printed);
  ToolProvider tool = ToolProvider.findFirst(name).orElse(null);
  if (tool == null) {
    fail(
        "The JDK in "
            + System.getProperty("java.home")
            + " has no "
            + name
            + ": use a full JDK 25.");
  } else if (tool.run(out, out, arguments) != 0) {
    fail(name + " " + String.join(" ", arguments) + " failed:\n" + printed);
  }
  return printed.toString().strip();
}

void run(Object... command) throws IOException, InterruptedException {
  List<String> words = Arrays.stream(command).map(Object::toString).toList();
  if (new ProcessBuilder(words).inheritIO().start().waitFor() != 0) {
    fail(String.join(" ", words) + " failed; see the output above.");
  }
}

boolean isOnPath(String program) {
  return Arrays.stream(System.getenv("PATH").split(File.pathSeparator))
      .anyMatch(folder -> Files.isExecutable(Path.of(folder, program)));
}

List<Path> list(Path folder) throws IOException {
  try (Stream<Path> files = Files.list(folder)) {
    return files.sorted().toList();
  }
}

void delete(Path tree) throws IOException {
  if (Files.exists(tree)) {
    try (Stream<Path> files = Files.walk(tree)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }
}

void fail(String sentence) {
  System.err.println(sentence);
  System.exit(1);
}
