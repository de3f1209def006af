package dev.athanor.service.grpc;

import dev.athanor.api.v1.CreateSessionRequest;
import dev.athanor.api.v1.CreateSessionResponse;
import dev.athanor.api.v1.DeleteModelRequest;
import dev.athanor.api.v1.DeleteModelResponse;
import dev.athanor.api.v1.DeleteSessionRequest;
import dev.athanor.api.v1.DeleteSessionResponse;
import dev.athanor.api.v1.DescribeModelRequest;
import dev.athanor.api.v1.DescribeModelResponse;
import dev.athanor.api.v1.DescribeSessionRequest;
import dev.athanor.api.v1.DescribeSessionResponse;
import dev.athanor.api.v1.ForkSessionRequest;
import dev.athanor.api.v1.ForkSessionResponse;
import dev.athanor.api.v1.GenerateRequest;
import dev.athanor.api.v1.GenerateResponse;
import dev.athanor.api.v1.ListModelsRequest;
import dev.athanor.api.v1.ListModelsResponse;
import dev.athanor.api.v1.ListSessionsRequest;
import dev.athanor.api.v1.ListSessionsResponse;
import dev.athanor.api.v1.Model;
import dev.athanor.api.v1.ModelInput;
import dev.athanor.api.v1.ModelsGrpc;
import dev.athanor.api.v1.PutModelHeader;
import dev.athanor.api.v1.PutModelRequest;
import dev.athanor.api.v1.PutModelResponse;
import dev.athanor.api.v1.RunModelRequest;
import dev.athanor.api.v1.RunModelResponse;
import dev.athanor.api.v1.SetDefaultRequest;
import dev.athanor.api.v1.SetDefaultResponse;
import dev.athanor.service.device.InlineMemory;
import dev.athanor.service.device.RequestMemory;
import dev.athanor.service.metrics.Metrics;
import dev.athanor.service.model.ExtentRanges;
import dev.athanor.service.model.ModelUpload;
import dev.athanor.service.model.ModelUpload.Format;
import dev.athanor.service.model.StoredModel;
import dev.athanor.service.model.StoredModels;
import dev.athanor.service.replica.ReplicatedModels;
import dev.athanor.service.run.Call;
import dev.athanor.service.run.IdempotentCalls;
import dev.athanor.service.run.OpRunner;
import dev.athanor.service.run.Result;
import dev.athanor.service.session.Generation.Event;
import dev.athanor.service.session.Generator;
import dev.athanor.service.session.Session;
import dev.athanor.service.session.SessionRuns;
import dev.athanor.service.session.Sessions;
import dev.athanor.service.stream.RequestContext;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Comparator;
import java.util.Map;
import org.springframework.grpc.server.service.GrpcService;

/** Stores models and runs them. */
@GrpcService
class ModelsService extends ModelsGrpc.ModelsImplBase {

  private final StoredModels models;
  private final Sessions sessions;
  private final SessionRuns runs;
  private final Generator generator;
  private final ReplicatedModels replicated;
  private final OpRunner runner;
  private final IdempotentCalls idempotent;
  private final Metrics metrics;
  private final InlineMemory inline;
  private final GrpcCalls calls;
  private final GrpcSettings settings;

  ModelsService(
      StoredModels models,
      Sessions sessions,
      SessionRuns runs,
      Generator generator,
      ReplicatedModels replicated,
      OpRunner runner,
      IdempotentCalls idempotent,
      Metrics metrics,
      InlineMemory inline,
      GrpcCalls calls,
      GrpcSettings settings) {
    this.models = models;
    this.sessions = sessions;
    this.runs = runs;
    this.generator = generator;
    this.replicated = replicated;
    this.runner = runner;
    this.idempotent = idempotent;
    this.metrics = metrics;
    this.inline = inline;
    this.calls = calls;
    this.settings = settings;
  }

  @Override
  public StreamObserver<PutModelRequest> put(StreamObserver<PutModelResponse> answer) {
    var upload =
        new Upload<PutModelRequest, PutModelHeader>(
            (ServerCallStreamObserver<PutModelResponse>) answer,
            settings.idleTimeout(),
            message -> message.hasHeader() ? message.getHeader() : null,
            PutModelRequest::getChunk);
    calls.start(
        answer,
        () -> {
          var stored = put(upload);
          answer.onNext(PutModelResponse.newBuilder().setModel(model(stored)).build());
          answer.onCompleted();
        });
    return upload;
  }

  private StoredModel put(Upload<PutModelRequest, PutModelHeader> upload) {
    var context = GrpcCalls.context();
    var header = upload.header(context.deadline());
    var format =
        header.hasContentType()
            ? Format.of(header.getContentType(), "header.content_type")
            : Format.ONNX;
    try (var memory = inline.open(GrpcCalls.account())) {
      var body =
          new ModelUpload(
              upload, format, settings.maxTensorBytes(), extents(header), header.getBatch());
      return replicated.put(GrpcCalls.entry(memory), header.getName(), 1, body).model();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static ExtentRanges extents(PutModelHeader header) {
    return header.hasExtents() ? ExtentRanges.parse(header.getExtents()) : ExtentRanges.ANY;
  }

  private Model model(StoredModel stored) {
    return Model.newBuilder()
        .setName(stored.name())
        .setVersion(stored.version())
        .setCreatedAt(Messages.time(stored.created()))
        .addAllInputs(
            stored.definition().inputs().stream()
                .map(input ->
                    ModelInput.newBuilder()
                        .setName(input.name())
                        .setDtype(input.dtype().text())
                        .addAllShape(input.extents())
                        .build())
                .toList())
        .addAllOutputs(stored.definition().outputs())
        .addAllVersions(models.versions(GrpcCalls.tenant(), stored.name()))
        .build();
  }

  @Override
  public void list(ListModelsRequest request, StreamObserver<ListModelsResponse> answer) {
    calls.answer(
        answer,
        () ->
            ListModelsResponse.newBuilder()
                .addAllModels(models.list(GrpcCalls.tenant()).stream().map(this::model).toList())
                .build());
  }

  @Override
  public void describe(DescribeModelRequest request, StreamObserver<DescribeModelResponse> answer) {
    calls.answer(
        answer,
        () ->
            DescribeModelResponse.newBuilder()
                .setModel(model(models.get(GrpcCalls.tenant(), request.getName())))
                .build());
  }

  @Override
  public void setDefault(SetDefaultRequest request, StreamObserver<SetDefaultResponse> answer) {
    calls.answer(
        answer,
        () -> {
          var context = GrpcCalls.context();
          var stored = models.setDefault(request.getName(), request.getVersion(), context);
          return SetDefaultResponse.newBuilder().setModel(model(stored)).build();
        });
  }

  @Override
  public void delete(DeleteModelRequest request, StreamObserver<DeleteModelResponse> answer) {
    calls.answer(
        answer,
        () -> {
          try {
            replicated.delete(GrpcCalls.entry(), request.getName());
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
          return DeleteModelResponse.getDefaultInstance();
        });
  }

  @Override
  public void run(RunModelRequest request, StreamObserver<RunModelResponse> answer) {
    calls.answer(
        answer,
        inline,
        memory ->
            metrics.counted(
                GrpcCalls.tenant(), OpRunner.PIPELINE, () -> response(run(request, memory))));
  }

  private Result run(RunModelRequest request, RequestMemory memory) {
    var context = GrpcCalls.context(memory);
    var inputs = RunMessages.inputs(request.getInputsMap());
    var targets = RunMessages.outputs(request.getOutputsMap());
    if (!request.hasIdempotencyKey()) {
      return run(request, inputs, targets, context);
    }
    return idempotent.run(
        targets,
        context,
        OpsService.KEY,
        request.getIdempotencyKey(),
        Messages.sha256(request),
        () -> run(request, inputs, targets, context));
  }

  private Result run(
      RunModelRequest request,
      Map<String, Call.Input> inputs,
      Map<String, Call.Target> targets,
      RequestContext context) {
    return request.hasSession()
        ? runs.run(session(request.getName(), request.getSession()), inputs, targets, context)
        : models.run(request.getName(), inputs, targets, context, runner::run);
  }

  private static RunModelResponse response(Result result) {
    var answer =
        RunModelResponse.newBuilder()
            .setDevice(result.device())
            .setTiming(Messages.timing(result.timing()));
    result.outputs().forEach((name, output) -> answer.putOutputs(name, Messages.output(output)));
    return answer.build();
  }

  // -- sessions

  private Session session(String model, String id) {
    return sessions.get(GrpcCalls.tenant(), model, id);
  }

  @Override
  public void createSession(
      CreateSessionRequest request, StreamObserver<CreateSessionResponse> answer) {
    calls.answer(
        answer,
        () -> {
          var lease =
              request.hasLease() ? Messages.lease(request.getLease(), "lease") : Sessions.LEASE;
          var session = sessions.create(request.getModel(), lease, GrpcCalls.context());
          return CreateSessionResponse.newBuilder()
              .setSession(SessionMessages.session(session))
              .build();
        });
  }

  @Override
  public void describeSession(
      DescribeSessionRequest request, StreamObserver<DescribeSessionResponse> answer) {
    calls.answer(
        answer,
        () ->
            DescribeSessionResponse.newBuilder()
                .setSession(
                    SessionMessages.session(session(request.getModel(), request.getSession())))
                .build());
  }

  @Override
  public void listSessions(
      ListSessionsRequest request, StreamObserver<ListSessionsResponse> answer) {
    calls.answer(
        answer,
        () ->
            ListSessionsResponse.newBuilder()
                .addAllSessions(
                    sessions.list(GrpcCalls.tenant(), request.getModel()).stream()
                        .map(SessionMessages::session)
                        .sorted(Comparator.comparing(dev.athanor.api.v1.Session::getSession))
                        .toList())
                .build());
  }

  @Override
  public void forkSession(ForkSessionRequest request, StreamObserver<ForkSessionResponse> answer) {
    calls.answer(
        answer,
        () -> {
          var session = session(request.getModel(), request.getSession());
          return ForkSessionResponse.newBuilder()
              .setSession(SessionMessages.session(runs.fork(session, GrpcCalls.context())))
              .build();
        });
  }

  @Override
  public void deleteSession(
      DeleteSessionRequest request, StreamObserver<DeleteSessionResponse> answer) {
    calls.answer(
        answer,
        () -> {
          sessions.delete(session(request.getModel(), request.getSession()));
          return DeleteSessionResponse.getDefaultInstance();
        });
  }

  // -- generation

  @Override
  public void generate(GenerateRequest request, StreamObserver<GenerateResponse> answer) {
    var context = GrpcCalls.context();
    var sender =
        new MessageSender<>(
            (ServerCallStreamObserver<GenerateResponse>) answer,
            settings.idleTimeout(),
            context.deadline());
    calls.start(
        answer,
        () ->
            metrics.counted(
                context.tenant(),
                OpRunner.PIPELINE,
                () -> {
                  generate(request, sender, context);
                  return answer;
                }));
  }

  private void generate(
      GenerateRequest request, MessageSender<GenerateResponse> sender, RequestContext context) {
    var asked = SessionMessages.generation(request);
    var generation =
        request.hasSession()
            ? generator.generate(session(request.getModel(), request.getSession()), asked, context)
            : generator.generate(request.getModel(), asked, context);
    try {
      var event = generation.next();
      while (event instanceof Event.Token(long token)) {
        sender.send(SessionMessages.token(token));
        event = generation.next();
      }
      if (event instanceof Event.Failed(var failure)) {
        throw failure;
      }
      sender.send(SessionMessages.end(generation, ((Event.End) event).reason()));
      sender.complete();
    } catch (InterruptedException e) {
      throw MessageSender.gone();
    } finally {
      generation.cancel(); // no effect after its end
    }
  }
}
