package dev.athanor.service.soak;

import com.google.protobuf.ByteString;
import dev.athanor.api.v1.NewTensor;
import dev.athanor.api.v1.PutHeader;
import dev.athanor.api.v1.PutRequest;
import dev.athanor.service.Http2;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** Client processes that are killed with SIGKILL in the middle of an upload. */
final class KilledClients {

  private static final int UPLOAD_BYTES = 1 << 20;
  private static final String SEND =
      "exec 3<>/dev/tcp/127.0.0.1/$0 && cat \"$1\" >&3 && echo sent && read -r _";

  private final Path rest;
  private final Path grpc;
  private final int restPort;
  private final int grpcPort;

  /**
   * @param folder the folder for the uploads
   */
  KilledClients(Path folder, String key, int restPort, int grpcPort) throws IOException {
    this.restPort = restPort;
    this.grpcPort = grpcPort;
    rest = Files.write(folder.resolve("half-of-rest"), half(key));
    grpc = Files.write(folder.resolve("half-of-grpc"), halfOfStream(key));
  }

  private static byte[] half(String key) {
    var head =
        """
        POST /tensors?dtype=u8&shape=%d HTTP/1.1\r
        Host: localhost\r
        X-API-Key: %s\r
        Content-Type: application/octet-stream\r
        Content-Length: %d\r
        \r
        """
            .formatted(UPLOAD_BYTES, key, UPLOAD_BYTES);
    return Http2.join(head.getBytes(StandardCharsets.US_ASCII), new byte[UPLOAD_BYTES / 2]);
  }

  /** Returns as much of an upload as HTTP/2 flow control initially allows. */
  private static byte[] halfOfStream(String key) {
    var header =
        PutRequest.newBuilder()
            .setHeader(
                PutHeader.newBuilder()
                    .setDtype("u8")
                    .addShape(UPLOAD_BYTES)
                    .setCreate(NewTensor.getDefaultInstance()))
            .build()
            .toByteArray();
    var chunk =
        PutRequest.newBuilder()
            .setChunk(ByteString.copyFrom(new byte[15_000]))
            .build()
            .toByteArray();
    var message = Http2.message(1, 0, chunk.length, chunk);
    return Http2.join(
        Http2.preface(),
        Http2.call(1, "athanor.v1.Tensors/Put", "x-api-key", key),
        Http2.message(1, 0, header.length, header),
        message,
        message,
        message);
  }

  /** Starts and kills one client of each protocol. */
  void both() throws IOException, InterruptedException {
    one(restPort, rest);
    one(grpcPort, grpc);
  }

  private static void one(int port, Path file) throws IOException, InterruptedException {
    var client =
        new ProcessBuilder("bash", "-c", SEND, Integer.toString(port), file.toString())
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    try (var output = client.inputReader()) {
      if (!"sent".equals(output.readLine())) {
        throw new AssertionError("a client could not send " + file);
      }
    } finally {
      client.destroyForcibly();
    }
    client.waitFor();
  }
}
