package dev.athanor.service.replica;

import dev.athanor.ops.HostTensor;
import dev.athanor.service.codec.Elements;
import dev.athanor.service.codec.Gguf;
import dev.athanor.service.codec.Safetensors;
import dev.athanor.service.codec.Tensors;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.tensor.Handles;
import dev.athanor.service.tensor.NamedTensors.Copy;
import dev.athanor.service.tensor.Names;
import dev.athanor.service.tensor.TenantTensors;
import dev.athanor.service.tensor.TensorOptions;
import dev.athanor.service.tensor.TensorStore;
import dev.athanor.service.transfer.Transfers;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Loads the tensors of safetensors and GGUF files at startup and stores them under their names,
 * without a lease and on this replica only. The tenant {@code local} owns them, so with
 * authentication only its callers see them. The files are mapped and uploaded in pieces.
 */
public final class WeightLoader {

  private static final Logger LOG = LoggerFactory.getLogger(WeightLoader.class);

  /** Thrown for a file or tensor that cannot be loaded; the message states the reason. */
  public static final class Unusable extends RuntimeException {
    private Unusable(String message, Throwable cause) {
      super(message, cause);
    }

    private Unusable(String message) {
      super(message);
    }
  }

  private record Weight(Path file, HostTensor tensor) {}

  private final Peers peers;
  private final Handles handles;
  private final TenantTensors tensors;
  private final Transfers transfers;

  /** The parameters are those of this replica. */
  public WeightLoader(Peers peers, Handles handles, TensorStore store, Transfers transfers) {
    this.peers = peers;
    this.handles = handles;
    this.tensors = store.of(RequestContext.OWN.tenant());
    this.transfers = transfers;
  }

  /**
   * Loads the tensors of all {@code .safetensors} and {@code .gguf} files of a folder. The headers
   * of all files are checked first.
   *
   * @throws Unusable if the folder or a file cannot be read, a file is malformed, two tensors have
   *     the same name, or a tensor does not fit into the device's memory or the tenant's quota
   */
  public void load(Path folder) {
    var files = files(folder);
    if (files.isEmpty()) {
      LOG.warn("The weight folder {} has no .safetensors and no .gguf files", folder);
    }
    try (var arena = Arena.ofConfined()) {
      var weights = new LinkedHashMap<String, Weight>();
      for (var file : files) {
        read(file, arena)
            .forEach((name, tensor) -> {
              var other = weights.putIfAbsent(name, new Weight(file, tensor));
              if (other != null) {
                throw new Unusable(
                    "both %s and %s have a tensor with the name %s; remove one of the files"
                        .formatted(other.file, file, Tensors.excerpt(name)));
              }
            });
      }
      weights.forEach(this::store);
      LOG.info("{} tensors of {} files in {}", weights.size(), files.size(), folder);
    }
  }

  private static List<Path> files(Path folder) {
    var files = new ArrayList<Path>();
    try (var found = Files.newDirectoryStream(folder, "*.{safetensors,gguf}")) {
      found.forEach(files::add);
    } catch (IOException e) {
      throw new Unusable(
          "cannot read the weight folder %s; it must be a folder with .safetensors or .gguf files"
              .formatted(folder),
          e);
    }
    Collections.sort(files);
    return files;
  }

  private static Map<String, HostTensor> read(Path file, Arena arena) {
    try (var channel = FileChannel.open(file)) {
      var mapped = channel.map(MapMode.READ_ONLY, 0, channel.size(), arena);
      return file.toString().endsWith(".gguf") ? Gguf.read(mapped) : Safetensors.read(mapped);
    } catch (Failure e) {
      throw new Unusable("cannot load %s: %s".formatted(file, e.getMessage()), e);
    } catch (IOException e) {
      throw new Unusable("cannot read the file " + file, e);
    }
  }

  private void store(String name, Weight weight) {
    var type = weight.tensor.type();
    try {
      Names.check(name);
      var elements = Elements.of(Tensors.checked(type, weight.tensor.data(), name));
      var options = new TensorOptions(null, null, Duration.ZERO, null);
      var info =
          transfers.create(elements, tensors.charge(type.bytes()), options, RequestContext.OWN);
      var named = tensors.named();
      var copy =
          new Copy(
              named.nextVersion(name, peers.place()), List.of(handles.replica()), Duration.ZERO);
      named.put(name, info.handle(), copy, _ -> {});
    } catch (Failure e) {
      throw unusable(name, weight, reason(e), e);
    } catch (IOException e) {
      throw unusable(name, weight, "the file cannot be read", e);
    }
  }

  private static Unusable unusable(String name, Weight weight, String reason, Exception cause) {
    return new Unusable(
        "cannot load the tensor %s of %s, %s: %s"
            .formatted(Tensors.excerpt(name), weight.file, weight.tensor.type(), reason),
        cause);
  }

  private String reason(Failure failure) {
    if (failure instanceof Failure.OutOfDeviceMemory memory) {
      return "it needs %d bytes of device memory, and %d are free"
          .formatted(memory.requestedBytes(), memory.freeBytes());
    }
    return failure.code() == Code.QUOTA_EXCEEDED
        ? "the quota of the tenant %s is %d bytes and %d tensors; raise athanor.tensors.max-bytes or athanor.tensors.max-count"
            .formatted(RequestContext.OWN.tenant().name(), tensors.maxBytes(), tensors.maxCount())
        : String.valueOf(failure.getMessage());
  }
}
