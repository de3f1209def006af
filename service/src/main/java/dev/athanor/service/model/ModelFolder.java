package dev.athanor.service.model;

import dev.athanor.service.codec.HostAllocator;
import dev.athanor.service.codec.Json;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.tensor.Tenant;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.springframework.util.FileSystemUtils;
import tools.jackson.core.JsonToken;

/**
 * Keeps the files of models as {@code TENANT/NAME/VERSION/…} in a folder. Each change is a rename,
 * so that a stop at any moment leaves all of a version or nothing.
 */
public final class ModelFolder implements ModelStorage {

  /** Thrown if the folder cannot be used; the message states the reason. */
  public static final class Unusable extends RuntimeException {
    private static final long serialVersionUID = 1;

    private Unusable(String message, Throwable cause) {
      super(message, cause);
    }
  }

  /** Holds what is incomplete or deleted. */
  private static final String TEMPORARY = ".temporary";

  /** The default version of a model, if it is not the newest. */
  private static final String DEFAULT = "default";

  private static final Pattern VERSION = Pattern.compile("[1-9]\\d{0,8}");
  private static final String REPLICAS = "replicas";
  private static final List<String> KEYS =
      List.of("created", ExtentRanges.FIELD, ModelUpload.BATCH, REPLICAS);

  private final Path folder;
  private final Path temporary;

  /**
   * Opens a folder, which is created if necessary.
   *
   * @throws Unusable if it cannot be written
   */
  ModelFolder(Path folder) {
    this.folder = folder;
    temporary = folder.resolve(TEMPORARY);
    try {
      FileSystemUtils.deleteRecursively(temporary);
      Files.createDirectories(temporary);
    } catch (IOException e) {
      throw new Unusable(
          "cannot write the folder of models %s (athanor.models.dir): %s"
              .formatted(folder, e.getMessage()),
          e);
    }
  }

  private Path temporary() {
    return temporary.resolve(UUID.randomUUID().toString());
  }

  private Path path(ModelId id) {
    return folder.resolve(folderName(id.tenant())).resolve(id.name());
  }

  private Path path(ModelId id, long version) {
    return path(id).resolve(Long.toString(version));
  }

  /** Names of tenants may begin with a period; those of their folders must not. */
  private static String folderName(Tenant tenant) {
    return tenant.name().startsWith(".") ? "%" + tenant.name() : tenant.name();
  }

  @Override
  public Incoming receive(HostAllocator memory) throws IOException {
    return new Incoming.InFolder(Files.createDirectory(temporary()));
  }

  @Override
  public long newest(ModelId id) throws IOException {
    return versions(path(id)).stream().mapToLong(Long::parseLong).max().orElse(0);
  }

  @Override
  public void store(ModelId id, long version, Incoming files, Metadata metadata)
      throws IOException {
    if (!(files instanceof Incoming.InFolder received)) {
      throw new IllegalArgumentException("the files are not in a folder");
    }
    var text = new TreeMap<String, String>();
    text.put("created", metadata.created().toString());
    text.put(ExtentRanges.FIELD, metadata.extents().text());
    text.put(ModelUpload.BATCH, metadata.batch());
    text.put(REPLICAS, String.join(",", metadata.replicas()));
    try (var out = Files.newOutputStream(received.folder().resolve(METADATA))) {
      Json.writeValue(out, text);
    }
    Files.createDirectories(path(id));
    move(received.folder(), path(id, version));
    Files.deleteIfExists(path(id).resolve(DEFAULT));
  }

  private static void move(Path from, Path to) throws IOException {
    Files.move(from, to, StandardCopyOption.ATOMIC_MOVE);
  }

  @Override
  public void setDefault(ModelId id, long version) throws IOException {
    move(Files.writeString(temporary(), Long.toString(version)), path(id).resolve(DEFAULT));
  }

  @Override
  public void delete(ModelId id, long version) throws IOException {
    delete(path(id, version));
  }

  @Override
  public void delete(ModelId id) throws IOException {
    delete(path(id));
  }

  private void delete(Path path) throws IOException {
    if (Files.exists(path)) {
      var moved = temporary();
      move(path, moved);
      FileSystemUtils.deleteRecursively(moved);
    }
  }

  @Override
  public List<Found> find() throws IOException {
    var found = new ArrayList<Found>();
    for (var tenant : folders(folder)) {
      var name = tenant.startsWith("%") ? tenant.substring(1) : tenant;
      if (tenant.equals(TEMPORARY) || !Tenant.isName(name)) {
        continue;
      }
      for (var model : folders(folder.resolve(tenant))) {
        var id = new ModelId(new Tenant(name), model);
        var marker = path(id).resolve(DEFAULT);
        var marked = Files.exists(marker) ? Files.readString(marker).strip() : "";
        versions(path(id)).stream()
            .sorted(Comparator.comparing(marked::equals))
            .map(version -> new InFolder(id, Long.parseLong(version), path(id).resolve(version)))
            .forEach(found::add);
      }
    }
    return found;
  }

  /** Returns the versions of a model in order. */
  private static List<String> versions(Path model) throws IOException {
    return folders(model).stream()
        .filter(name -> VERSION.matcher(name).matches())
        .sorted(Comparator.comparingLong(Long::parseLong))
        .toList();
  }

  private static List<String> folders(Path folder) throws IOException {
    if (!Files.isDirectory(folder)) {
      return List.of();
    }
    try (var paths = Files.list(folder)) {
      return paths
          .filter(Files::isDirectory)
          .map(path -> path.getFileName().toString())
          .sorted()
          .toList();
    }
  }

  /** A version in the folder. */
  private record InFolder(ModelId id, long version, Path path) implements Found {

    /** Folders that an operator has filled have no file with it. */
    @Override
    public Metadata metadata() throws IOException {
      var file = path.resolve(METADATA);
      if (!Files.exists(file)) {
        return new Metadata(
            Files.getLastModifiedTime(path).toInstant(), ExtentRanges.ANY, "", List.of());
      }
      var read = new HashMap<String, String>();
      try (var in = Files.newInputStream(file)) {
        Json.read(
            in,
            parser -> {
              while (parser.nextToken() != JsonToken.END_OBJECT) {
                var name = parser.currentName();
                parser.nextToken();
                if (!KEYS.contains(name)) {
                  throw Json.unknown("", name, KEYS);
                }
                read.put(name, Json.string(parser, name, Code.MALFORMED_BODY));
              }
              return read;
            });
        var replicas = read.getOrDefault(REPLICAS, "");
        return new Metadata(
            Instant.parse(read.getOrDefault("created", "")),
            ExtentRanges.parse(read.getOrDefault(ExtentRanges.FIELD, "")),
            read.getOrDefault(ModelUpload.BATCH, ""),
            replicas.isEmpty() ? List.of() : List.of(replicas.split(",", -1)));
      } catch (DateTimeException e) {
        throw new IOException("%s has no time \"created\"".formatted(METADATA), e);
      }
    }

    @Override
    public ModelFiles files() throws IOException {
      Map<String, MemorySegment> files = new HashMap<>();
      try (Stream<Path> paths = Files.walk(path)) {
        for (var file : paths.filter(Files::isRegularFile).toList()) {
          try (var channel = FileChannel.open(file)) {
            var name = path.relativize(file).toString().replace('\\', '/');
            files.put(name, Incoming.InFolder.map(channel));
          }
        }
      }
      files.remove(METADATA);
      return new ModelFiles(files);
    }
  }
}
