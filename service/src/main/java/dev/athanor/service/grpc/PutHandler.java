package dev.athanor.service.grpc;

import dev.athanor.api.v1.NamedTensor;
import dev.athanor.api.v1.NewTensor;
import dev.athanor.api.v1.PutHeader;
import dev.athanor.api.v1.PutRequest;
import dev.athanor.api.v1.PutResponse;
import dev.athanor.api.v1.Replacement;
import dev.athanor.ops.TensorType;
import dev.athanor.service.codec.ByteSource;
import dev.athanor.service.codec.Digested;
import dev.athanor.service.codec.Elements;
import dev.athanor.service.codec.Tensors;
import dev.athanor.service.device.DeviceHealth;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.replica.EntryRequest;
import dev.athanor.service.replica.ReplicatedTensors;
import dev.athanor.service.replica.ReplicatedTensors.Order;
import dev.athanor.service.replica.ReplicatedTensors.Precondition;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.tensor.IdempotencyKeys;
import dev.athanor.service.tensor.IdempotencyKeys.Creation;
import dev.athanor.service.tensor.Names;
import dev.athanor.service.tensor.TensorInfo;
import dev.athanor.service.tensor.TensorOptions;
import dev.athanor.service.tensor.TensorStore;
import dev.athanor.service.transfer.Transfers;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;
import org.springframework.stereotype.Component;

/** Uploads tensors: creates them, stores them under names, or replaces their contents. */
@Component
final class PutHandler {

  private final TensorStore store;
  private final Transfers transfers;
  private final ReplicatedTensors replicated;
  private final IdempotencyKeys<String> keys;
  private final DeviceHealth health;
  private final GrpcSettings settings;

  PutHandler(
      TensorStore store,
      Transfers transfers,
      ReplicatedTensors replicated,
      IdempotencyKeys<String> keys,
      DeviceHealth health,
      GrpcSettings settings) {
    this.store = store;
    this.transfers = transfers;
    this.replicated = replicated;
    this.keys = keys;
    this.health = health;
    this.settings = settings;
  }

  /**
   * Serves a call.
   *
   * @param upload the messages of the client
   */
  PutResponse put(Upload<PutRequest, PutHeader> upload, EntryRequest entry) {
    var context = entry.context();
    var header = upload.header(context.deadline());
    var type = Messages.type(header.getDtype(), header.getShapeList(), "header");
    health.admit();
    try {
      return switch (header.getTargetCase()) {
        case REPLACE -> response(replace(header.getReplace(), type, upload, context)).build();
        case STORE -> store(header.getStore(), type, upload, entry);
        case CREATE, TARGET_NOT_SET -> response(create(header, type, upload, context)).build();
      };
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static PutResponse.Builder response(TensorInfo info) {
    return PutResponse.newBuilder().setTensor(Messages.tensor(info));
  }

  private TensorInfo replace(
      Replacement replaced, TensorType type, ByteSource upload, RequestContext context)
      throws IOException {
    var present = store.of(context.tenant()).describe(replaced.getHandle()).type();
    if (!present.equals(type)) {
      throw new Failure.Refused(
          Code.SHAPE_MISMATCH,
          "header",
          "the tensor has type %s, but the header has %s; they must be equal"
              .formatted(present, type));
    }
    return transfers.replace(
        replaced.getHandle(),
        Elements.of(type, upload, settings.maxTensorBytes(), "chunk"),
        version -> {
          checkVersion(replaced, version);
          return true;
        },
        context);
  }

  private static void checkVersion(Replacement replaced, long version) {
    if (replaced.hasVersion() && replaced.getVersion() != version) {
      throw new Failure.Refused(
          Code.VERSION_MISMATCH,
          "header.replace.version",
          "header.replace.version is %d, but the tensor has version %d; read it again"
              .formatted(replaced.getVersion(), version));
    }
  }

  private TensorInfo create(
      PutHeader header, TensorType type, ByteSource upload, RequestContext context)
      throws IOException {
    var asked = header.getCreate();
    var options = options(asked);
    if (!asked.hasIdempotencyKey()) {
      return create(type, options, upload, context);
    }
    var digested = new Digested(upload);
    var handle =
        keys.once(
            context.tenant(),
            "header.create.idempotency_key",
            asked.getIdempotencyKey(),
            context.deadline(),
            () -> {
              try {
                var created = create(type, options, digested, context);
                return new Creation<>(created.handle(), fingerprint(header, digested));
              } catch (IOException e) {
                throw new UncheckedIOException(e);
              }
            },
            () -> {
              try {
                digested.drain();
                return fingerprint(header, digested);
              } catch (IOException e) {
                throw new UncheckedIOException(e);
              }
            });
    return store.of(context.tenant()).describe(handle);
  }

  /** Creates a tensor. The quota is charged before the elements are read. */
  private TensorInfo create(
      TensorType type, TensorOptions options, ByteSource upload, RequestContext context)
      throws IOException {
    var elements = Elements.of(type, upload, settings.maxTensorBytes(), "chunk");
    return transfers.create(
        elements, store.of(context.tenant()).charge(type.bytes()), options, context);
  }

  private static TensorOptions options(NewTensor asked) {
    return new TensorOptions(
        asked.hasName() ? Tensors.label(asked.getName(), "header.create.name") : null,
        asked.hasScope() ? Tensors.label(asked.getScope(), "header.create.scope") : null,
        asked.hasLease() ? Messages.lease(asked.getLease(), "header.create.lease") : null,
        asked.hasDevice() ? asked.getDevice() : null);
  }

  private static String fingerprint(PutHeader header, Digested upload) {
    return header + "#" + upload.sha256();
  }

  private PutResponse store(
      NamedTensor asked, TensorType type, ByteSource upload, EntryRequest entry)
      throws IOException {
    var order =
        new Order(
            Names.check(asked.getName()),
            copies(asked, entry),
            asked.hasScope() ? Tensors.label(asked.getScope(), "header.store.scope") : null,
            asked.hasLease()
                ? Messages.lease(asked.getLease(), "header.store.lease")
                : Duration.ZERO,
            asked.hasDevice() ? asked.getDevice() : null,
            precondition(asked));
    var stored =
        replicated.store(entry, order, options -> create(type, options, upload, entry.context()));
    return response(stored.info()).addAllUnreachable(stored.unreachable()).build();
  }

  /** Returns the number of replicas that get a copy; 0 for all. */
  private int copies(NamedTensor asked, EntryRequest entry) {
    return switch (asked.getCopiesCase()) {
      case COPIES_NOT_SET -> 1;
      case ALL_REPLICAS -> {
        requireTrue(asked.getAllReplicas(), "header.store.all_replicas");
        yield 0;
      }
      case REPLICAS -> {
        int most = replicated.maxCopies(entry);
        if (asked.getReplicas() < 1 || asked.getReplicas() > most) {
          throw new Failure.Refused(
              Code.INVALID_ATTRIBUTE,
              "header.store.replicas",
              "header.store.replicas is %d; it must be 1 to %d, the maximum number of replicas (athanor.forward.replicas, athanor.forward.discovery)"
                  .formatted(asked.getReplicas(), most));
        }
        yield asked.getReplicas();
      }
    };
  }

  private static void requireTrue(boolean value, String field) {
    if (!value) {
      throw new Failure.Refused(
          Code.INVALID_ATTRIBUTE, field, field + " is false; it must be true or unset");
    }
  }

  private static @Nullable Precondition precondition(NamedTensor asked) {
    return switch (asked.getPreconditionCase()) {
      case PRECONDITION_NOT_SET -> null;
      case VERSION ->
          new Precondition("header.store.version", version -> checkVersion(asked, version));
      case ABSENT -> {
        requireTrue(asked.getAbsent(), "header.store.absent");
        yield new Precondition("header.store.absent", version -> checkAbsent(asked, version));
      }
    };
  }

  private static void checkVersion(NamedTensor asked, OptionalLong version) {
    if (version.isEmpty() || version.getAsLong() != asked.getVersion()) {
      throw new Failure.Refused(
          Code.VERSION_MISMATCH,
          "header.store.version",
          version.isEmpty()
              ? "header.store.version is %d, but no tensor is stored under the name %s"
                  .formatted(asked.getVersion(), asked.getName())
              : "header.store.version is %d, but the tensor %s has version %d; read it again"
                  .formatted(asked.getVersion(), asked.getName(), version.getAsLong()));
    }
  }

  private static void checkAbsent(NamedTensor asked, OptionalLong version) {
    if (version.isPresent()) {
      throw new Failure.Refused(
          Code.VERSION_MISMATCH,
          "header.store.absent",
          "header.store.absent is true, but version %d of a tensor is stored under the name %s"
              .formatted(version.getAsLong(), asked.getName()));
    }
  }
}
