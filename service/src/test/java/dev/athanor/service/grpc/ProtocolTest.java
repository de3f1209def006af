package dev.athanor.service.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.athanor.service.failure.Failure.Code;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.reflection.v1.ServerReflectionGrpc;
import io.grpc.reflection.v1.ServerReflectionRequest;
import io.grpc.reflection.v1.ServerReflectionResponse;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.core.io.support.PathMatchingResourcePatternResolver;

/** Compares the .proto files with the running service, in both directions. */
class ProtocolTest extends GrpcTest {

  private static final Pattern PACKAGE = Pattern.compile("package ([\\w.]+);");
  private static final Pattern SERVICE =
      Pattern.compile("service (\\w+) \\{(.*?)\\n}", Pattern.DOTALL);
  private static final Pattern METHOD =
      Pattern.compile("rpc (\\w+)\\((stream )?(\\w+)\\) returns \\((stream )?(\\w+)\\)");

  /**
   * Returns the methods in the .proto files, as {@code package.Service/Method(stream Request)
   * Answer}.
   */
  private static Set<String> declaredMethods() throws IOException {
    var methods = new TreeSet<String>();
    var resolver = new PathMatchingResourcePatternResolver();
    for (var folder : List.of("athanor", "inference")) {
      for (var file : resolver.getResources("classpath*:" + folder + "/**/*.proto")) {
        var text = file.getContentAsString(StandardCharsets.UTF_8);
        var home = PACKAGE.matcher(text);
        assertThat(home.find()).as(file.getFilename()).isTrue();
        var services = SERVICE.matcher(text);
        while (services.find()) {
          var each = METHOD.matcher(services.group(2));
          while (each.find()) {
            methods.add(
                method(
                    home.group(1) + "." + services.group(1) + "/" + each.group(1),
                    each.group(2) != null,
                    each.group(3),
                    each.group(4) != null,
                    each.group(5)));
          }
        }
      }
    }
    return methods;
  }

  private static String method(
      String name, boolean streamed, String request, boolean streams, String answer) {
    return name + (streamed ? "(stream " : "(") + request + (streams ? ") stream " : ") ") + answer;
  }

  private ServerReflectionResponse ask(ServerReflectionRequest.Builder question) {
    var answer = new CompletableFuture<ServerReflectionResponse>();
    var requests =
        ServerReflectionGrpc.newStub(channel())
            .serverReflectionInfo(
                new StreamObserver<ServerReflectionResponse>() {
                  @Override
                  public void onNext(ServerReflectionResponse response) {
                    answer.complete(response);
                  }

                  @Override
                  public void onError(Throwable thrown) {
                    answer.completeExceptionally(thrown);
                  }

                  @Override
                  public void onCompleted() {}
                });
    requests.onNext(question.build());
    var response = answer.join();
    requests.onCompleted();
    return response;
  }

  /** Returns the served methods in the same format, by reflection, except health and reflection. */
  private Set<String> servedMethods() throws InvalidProtocolBufferException {
    var methods = new TreeSet<String>();
    var services =
        ask(ServerReflectionRequest.newBuilder().setListServices(""))
            .getListServicesResponse()
            .getServiceList();
    for (var listed : services) {
      if (listed.getName().startsWith("grpc.")) {
        continue;
      }
      var files =
          ask(ServerReflectionRequest.newBuilder().setFileContainingSymbol(listed.getName()))
              .getFileDescriptorResponse();
      for (var bytes : files.getFileDescriptorProtoList()) {
        var file = FileDescriptorProto.parseFrom(bytes);
        for (var service : file.getServiceList()) {
          var name = file.getPackage() + "." + service.getName();
          if (name.equals(listed.getName())) {
            service
                .getMethodList()
                .forEach(each ->
                    methods.add(
                        method(
                            name + "/" + each.getName(),
                            each.getClientStreaming(),
                            simpleName(each.getInputType()),
                            each.getServerStreaming(),
                            simpleName(each.getOutputType()))));
          }
        }
      }
    }
    return methods;
  }

  private static String simpleName(String type) {
    return type.substring(type.lastIndexOf('.') + 1);
  }

  @Test
  void servesExactlyTheDeclaredMethods() throws IOException {
    assertThat(servedMethods()).isEqualTo(declaredMethods()).hasSizeGreaterThan(15);
  }

  /** Returns the status of a call with one empty message, for any kind of method. */
  private Status call(String name) {
    var method =
        RawMessages.unary(name).toBuilder().setType(MethodDescriptor.MethodType.UNKNOWN).build();
    ClientCall<byte[], byte[]> call =
        channel().newCall(method, CallOptions.DEFAULT.withDeadlineAfter(1, TimeUnit.HOURS));
    var ended = new CompletableFuture<Status>();
    call.start(
        new ClientCall.Listener<byte[]>() {
          @Override
          public void onClose(Status status, Metadata trailers) {
            ended.complete(status);
          }
        },
        new Metadata());
    call.request(1_000);
    call.sendMessage(new byte[0]);
    call.halfClose();
    return ended.join();
  }

  @Test
  void everyMethodResponds() throws IOException {
    for (var method : declaredMethods()) {
      assertThat(call(method.substring(0, method.indexOf('('))).getCode())
          .as(method)
          .isIn(Status.Code.OK, Status.Code.INVALID_ARGUMENT, Status.Code.NOT_FOUND);
    }
    assertThat(call("athanor.v1.Ops/Sing").getCode()).isEqualTo(Status.Code.UNIMPLEMENTED);
  }

  /** Returns the rows of the error table in the README of the API: statuses and reasons. */
  private static List<List<List<String>>> documented() throws IOException {
    return Files.readAllLines(Path.of("..", "api-spec", "README.md")).stream()
        .filter(line -> line.matches("\\| `[A-Z_]+`.*"))
        .map(line -> Arrays.stream(line.split("\\|", -1)).map(ProtocolTest::words).toList())
        .toList();
  }

  private static List<String> words(String cell) {
    return Arrays.stream(cell.split("[^A-Za-z_-]+", -1)).filter(word -> !word.isEmpty()).toList();
  }

  @ParameterizedTest
  @EnumSource(Code.class)
  void everyReasonIsDocumentedWithItsStatus(Code code) throws IOException {
    assertThat(documented())
        .filteredOn(row -> row.get(2).contains(code.text()))
        .singleElement()
        .satisfies(row -> assertThat(row.get(1)).contains(Statuses.code(code).name()));
  }
}
