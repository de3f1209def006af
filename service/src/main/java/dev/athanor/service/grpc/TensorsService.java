package dev.athanor.service.grpc;

import dev.athanor.api.v1.DeleteRequest;
import dev.athanor.api.v1.DeleteResponse;
import dev.athanor.api.v1.DescribeRequest;
import dev.athanor.api.v1.DescribeResponse;
import dev.athanor.api.v1.GetHeader;
import dev.athanor.api.v1.GetRequest;
import dev.athanor.api.v1.GetResponse;
import dev.athanor.api.v1.ListRequest;
import dev.athanor.api.v1.ListResponse;
import dev.athanor.api.v1.PutHeader;
import dev.athanor.api.v1.PutRequest;
import dev.athanor.api.v1.PutResponse;
import dev.athanor.api.v1.RenewRequest;
import dev.athanor.api.v1.RenewResponse;
import dev.athanor.api.v1.Tensor;
import dev.athanor.api.v1.TensorsGrpc;
import dev.athanor.service.codec.Tensors;
import dev.athanor.service.device.DeviceHealth;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.replica.ReplicatedTensors;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.tensor.Names;
import dev.athanor.service.tensor.TenantTensors;
import dev.athanor.service.tensor.TensorInfo;
import dev.athanor.service.tensor.TensorStore;
import dev.athanor.service.transfer.Transfers;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.springframework.grpc.server.service.GrpcService;

/** Creates, replaces, reads, lists, renews and deletes resident tensors. */
@GrpcService
class TensorsService extends TensorsGrpc.TensorsImplBase {

  private static final int CHUNK = 1 << 19;
  private static final int MIN_CHUNK = 1 << 12;
  private static final int PAGE = 100;
  private static final int MAX_PAGE = 1000;

  private final TensorStore store;
  private final Transfers transfers;
  private final ReplicatedTensors replicated;
  private final PutHandler puts;
  private final GrpcCalls calls;
  private final DeviceHealth health;
  private final GrpcSettings settings;

  TensorsService(
      TensorStore store,
      Transfers transfers,
      ReplicatedTensors replicated,
      PutHandler puts,
      GrpcCalls calls,
      DeviceHealth health,
      GrpcSettings settings) {
    this.store = store;
    this.transfers = transfers;
    this.replicated = replicated;
    this.puts = puts;
    this.calls = calls;
    this.health = health;
    this.settings = settings;
  }

  // -- Put

  @Override
  public StreamObserver<PutRequest> put(StreamObserver<PutResponse> answer) {
    var upload =
        new Upload<PutRequest, PutHeader>(
            (ServerCallStreamObserver<PutResponse>) answer,
            settings.idleTimeout(),
            message -> message.hasHeader() ? message.getHeader() : null,
            PutRequest::getChunk);
    calls.start(
        answer,
        () -> {
          answer.onNext(puts.put(upload, GrpcCalls.entry()));
          answer.onCompleted();
        });
    return upload;
  }

  // -- Get

  @Override
  public void get(GetRequest request, StreamObserver<GetResponse> answer) {
    var terms = GrpcCalls.context();
    var sender =
        new MessageSender<>(
            (ServerCallStreamObserver<GetResponse>) answer,
            settings.idleTimeout(),
            terms.deadline());
    calls.start(answer, () -> get(request, sender, terms));
  }

  private void get(GetRequest request, MessageSender<GetResponse> sender, RequestContext terms) {
    int chunkBytes = request.hasChunkBytes() ? request.getChunkBytes() : CHUNK;
    if (chunkBytes < MIN_CHUNK || chunkBytes > GrpcSettings.MAX_CHUNK) {
      throw notIn("chunk_bytes", chunkBytes, MIN_CHUNK, GrpcSettings.MAX_CHUNK);
    }
    health.admit();
    try (var reader = transfers.open(request.getHandle(), terms)) {
      var info = reader.info();
      if (request.hasVersion() && request.getVersion() != info.version()) {
        throw new Failure.Refused(
            Code.VERSION_MISMATCH,
            "version",
            "the tensor has version %d, not %d; read it again"
                .formatted(info.version(), request.getVersion()));
      }
      long at = request.getOffset();
      long left = length(request, info);
      var header =
          GetHeader.newBuilder().setTensor(tensor(info)).setOffset(at).setLength(left).build();
      var first = GetResponse.newBuilder().setHeader(header).build();
      send(reader, first, at, left, chunkBytes, sender);
    }
    sender.complete();
  }

  /**
   * Sends the header only after the first chunk is read, so that a slow client cannot hold the
   * lock.
   */
  private static void send(
      Transfers.Reader reader,
      GetResponse first,
      long at,
      long length,
      int chunkBytes,
      MessageSender<GetResponse> sender) {
    if (length == 0) {
      reader.close();
      sender.send(first);
      return;
    }
    try (var chunks = reader.chunks(at, length, chunkBytes)) {
      sender.send(first);
      do {
        var chunk = Messages.bytes(chunks.current().bytes());
        sender.send(GetResponse.newBuilder().setChunk(chunk).build());
      } while (chunks.next());
    }
  }

  private static long length(GetRequest request, TensorInfo info) {
    long bytes = info.type().bytes();
    long offset = request.getOffset();
    long length = request.hasLength() ? request.getLength() : bytes - offset;
    if (offset < 0 || offset > bytes || length < 0 || length > bytes - offset) {
      throw new Failure.Refused(
          Code.RANGE_NOT_SATISFIABLE,
          request.hasLength() ? "length" : "offset",
          "offset %d%s is outside the tensor's %d bytes"
              .formatted(
                  offset,
                  request.hasLength() ? ", length %d".formatted(request.getLength()) : "",
                  bytes));
    }
    return length;
  }

  // -- Describe, List, Renew, Delete

  @Override
  public void describe(DescribeRequest request, StreamObserver<DescribeResponse> answer) {
    calls.answer(
        answer,
        () ->
            DescribeResponse.newBuilder()
                .setTensor(tensor(tensors().describe(request.getHandle())))
                .build());
  }

  @Override
  public void list(ListRequest request, StreamObserver<ListResponse> answer) {
    calls.answer(
        answer,
        () -> {
          int limit = request.hasLimit() ? request.getLimit() : PAGE;
          if (limit < 1 || limit > MAX_PAGE) {
            throw notIn("limit", limit, 1, MAX_PAGE);
          }
          var page =
              tensors()
                  .list(
                      limit,
                      request.hasAfter() ? request.getAfter() : null,
                      request.hasScope() ? Tensors.label(request.getScope(), "scope") : null);
          var message =
              ListResponse.newBuilder()
                  .addAllTensors(page.tensors().stream().map(this::tensor).toList());
          if (page.next() != null) {
            message.setNext(page.next());
          }
          return message.build();
        });
  }

  @Override
  public void renew(RenewRequest request, StreamObserver<RenewResponse> answer) {
    calls.answer(
        answer,
        () -> {
          if (!request.hasLease()) {
            throw new Failure.Refused(
                Code.INVALID_ATTRIBUTE, "lease", "lease is missing; give the new lease");
          }
          var info =
              tensors().renew(request.getHandle(), Messages.lease(request.getLease(), "lease"));
          return RenewResponse.newBuilder().setTensor(tensor(info)).build();
        });
  }

  @Override
  public void delete(DeleteRequest request, StreamObserver<DeleteResponse> answer) {
    calls.answer(
        answer,
        () -> {
          switch (request.getWhatCase()) {
            case HANDLE -> delete(request.getHandle());
            case SCOPE -> tensors().deleteScope(Tensors.label(request.getScope(), "scope"));
            case WHAT_NOT_SET ->
                throw new Failure.Refused(
                    Code.INVALID_ATTRIBUTE,
                    "handle",
                    "handle and scope are missing; give one of them");
          }
          return DeleteResponse.getDefaultInstance();
        });
  }

  private void delete(String handle) {
    if (!Names.isName(handle)) {
      tensors().delete(handle);
      return;
    }
    try {
      replicated.delete(GrpcCalls.entry(), handle);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private TenantTensors tensors() {
    return store.of(GrpcCalls.tenant());
  }

  private Tensor tensor(TensorInfo info) {
    return Messages.tensor(info);
  }

  private static Failure notIn(String field, int value, int min, int max) {
    return new Failure.Refused(
        Code.INVALID_ATTRIBUTE,
        field,
        "%s is %d; it must be %d to %d".formatted(field, value, min, max));
  }
}
