import java.io.File;
import java.nio.file.attribute.FileTime;
import java.util.regex.Pattern;

// Builds Athanor if a source is newer than the last build, as `athanor` does in the shell.
// athanor.cmd runs this source file, because batch files cannot compare times:
//
//     java Build.java ROOT WRAPPER
//
// ROOT is the checkout and WRAPPER its script that runs Maven.

static final Pattern MODULE = Pattern.compile("\\[INFO] Building (.*\\S) +\\[(\\d+)/(\\d+)].*");
static final Pattern STEP = Pattern.compile("\\[INFO] --- ([a-z-]*):.*");

void main(String[] args) throws IOException, InterruptedException {
  Path root = Path.of(args[0]).toRealPath();
  Path target = root.resolve("cli/target");
  Path packed = target.resolve("athanor.jar");
  Path home = target.resolve("athanor"); // the extracted jar and its ahead-of-time cache
  Path built = target.resolve("athanor.jar.built"); // its time is that of the built sources
  Path log = target.resolve("build.log");
  if (Files.exists(home.resolve("athanor.jar")) && Files.exists(built) && !changed(root, built)) {
    return;
  }
  System.err.println(
      "Building Athanor. The first build takes some minutes and downloads what it needs.");
  Files.createDirectories(target);
  try {
    for (Path old : List.of(built, packed, home)) {
      delete(old);
    }
  } catch (FileSystemException e) {
    // On Windows, files cannot be deleted while they are open.
    System.err.println(
        "Cannot delete %s: another program uses it. Stop Athanor before it is built again."
            .formatted(e.getFile()));
    System.exit(1);
  }
  FileTime start = FileTime.from(Instant.now());
  // Skips what does not affect the jar: other modules, tests and the formatting check. Projects of
  // `athanor new` get Athanor's jars from the repository in the build folder.
  String repository = target.resolve("repository").toString().replace(File.separatorChar, '/');
  run(
      log,
      root.resolve(args[1]).toString(),
      "-B",
      "-f",
      root.resolve("pom.xml").toString(),
      "-pl",
      "cli",
      "-am",
      "-Dmaven.test.skip=true",
      "-Dspotless.check.skip=true",
      "-Dmaven.install.skip=true",
      "-DaltDeploymentRepository=athanor::file://"
          + (repository.startsWith("/") ? "" : "/")
          + repository,
      "deploy");
  run(
      log,
      Path.of(System.getProperty("java.home"), "bin", "java").toString(),
      "-Djarmode=tools",
      "-jar",
      packed.toString(),
      "extract",
      "--destination",
      home.toString());
  Files.writeString(built, "");
  Files.setLastModifiedTime(built, start);
}

/// Returns whether a source has changed. Checks folders too, because deleting a source updates its
/// folder.
boolean changed(Path root, Path built) throws IOException {
  List<Path> sources = new ArrayList<>();
  sources.add(root.resolve("pom.xml"));
  sources.add(root.resolve("clients/java/pom.xml"));
  sources.add(root.resolve("clients/java/src"));
  try (var modules = Files.newDirectoryStream(root)) {
    for (Path module : modules) {
      sources.add(module.resolve("pom.xml"));
      sources.add(module.resolve("src/main"));
    }
  }
  FileTime last = Files.getLastModifiedTime(built);
  for (Path source : sources.stream().filter(Files::exists).toList()) {
    try (var newer =
        Files.find(
            source, 99, (_, attributes) -> attributes.lastModifiedTime().compareTo(last) > 0)) {
      if (newer.findAny().isPresent()) {
        return true;
      }
    }
  }
  return false;
}

/// Runs a command with its output in the log. Prints a line of progress at each change and every 15
/// seconds. If the command fails, prints its warnings and errors, and exits with its status.
void run(Path log, String... command) throws IOException, InterruptedException {
  Process process =
      new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start();
  process.getOutputStream().close();
  String last = "";
  for (int seconds = 1; !process.waitFor(1, TimeUnit.SECONDS); seconds++) {
    String now = progress(Files.readAllLines(log, StandardCharsets.ISO_8859_1));
    String change = now.replaceFirst(", files.*", "");
    if (!change.equals(last) || seconds % 15 == 0) {
      System.err.println("  " + seconds + " s  " + now);
      last = change;
    }
  }
  if (process.exitValue() != 0) {
    List<String> lines = Files.readAllLines(log, StandardCharsets.ISO_8859_1);
    List<String> problems =
        lines.stream().filter(line -> line.matches("\\[(WARNING|ERROR)].*")).toList();
    (problems.isEmpty() ? lines : problems).forEach(System.err::println);
    System.err.println("The build failed; all of its output is in " + log + ".");
    System.exit(process.exitValue());
  }
}

/// Returns the progress of a build: "kernel-engine 0.1.0 (3 of 5): compiler, files downloaded:
/// 120".
String progress(List<String> log) {
  String module = "";
  String step = "";
  int files = 0;
  for (String line : log) {
    Matcher building = MODULE.matcher(line);
    Matcher goal = STEP.matcher(line);
    if (building.matches()) {
      module = "%s (%s of %s)".formatted(building.group(1), building.group(2), building.group(3));
      step = "";
    } else if (goal.matches()) {
      step = ": " + goal.group(1);
    } else if (line.contains("Downloaded from ")) {
      files++;
    }
  }
  return module + step + (files == 0 ? "" : ", files downloaded: " + files);
}

void delete(Path tree) throws IOException {
  if (Files.exists(tree)) {
    List<Path> all;
    try (Stream<Path> files = Files.walk(tree)) {
      all = files.sorted(Comparator.reverseOrder()).toList();
    }
    for (Path file : all) {
      Files.delete(file);
    }
  }
}
