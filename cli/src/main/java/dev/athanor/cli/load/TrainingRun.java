package dev.athanor.cli.load;

import dev.athanor.client.AthanorException;
import dev.athanor.ops.Catalogue;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;

/**
 * Sends typical requests to a service in this JVM, so that an ahead-of-time cache contains the
 * profiles of the methods that serve them (JEP 515). Later starts compile these methods early.
 */
public final class TrainingRun {

  /** Requests of each kind: enough for the JVM to compile what serves them. */
  private static final int REQUESTS = 600;

  /** Requests of kinds that take long on the emulator or transfer much. */
  private static final int FEW = 40;

  private static final List<String> TINY =
      List.of(
          "op add a=f32[64] b=f32[64]", "op-grpc add a=f32[64] b=f32[64]", "put 64B", "get 64B");

  private static final List<String> OTHERS =
      List.of(
          "op matmul a=f16[32,32] b=f16[32,32]",
          "op rms-norm x=f32[4,64] gamma=f32[64]",
          "op softmax x=f32[4,64]",
          "put 1MiB",
          "get 1MiB",
          "put-grpc 1MiB",
          "get-grpc 1MiB",
          "put-json 1024",
          "get-json 1024");

  private static final String RELU =
      """
      {"inputs": {"x": {"dtype": "f32", "shape": [4], "data": [1, -2, 3.5, -4]}}}
      """;

  private static final String REFUSED = "{\"inputs\": {}}";

  private TrainingRun() {}

  /**
   * Sends the requests, one at a time.
   *
   * @param grpcAddress the plaintext gRPC address, as host:port
   * @throws LoadException if a request fails
   */
  public static void run(URI url, String grpcAddress) throws InterruptedException {
    try (var target = new Target(url, grpcAddress, Map.of())) {
      send(target, new JsonPost("relu", "/ops/relu", bytes(RELU)), 2 * REQUESTS);
      for (boolean resident : new boolean[] {true, false}) {
        var scenarios = new Scenarios(Catalogue.load(), resident, 1);
        for (var text : TINY) {
          send(target, scenarios.parse(text), REQUESTS);
        }
        for (var text : OTHERS) {
          send(target, scenarios.parse(text), FEW);
        }
      }
      refuse(target);
    } catch (AthanorException | RequestFailure e) {
      throw new LoadException("a request of the training run failed: " + e.getMessage());
    }
  }

  private static void send(Target target, Scenario scenario, int requests)
      throws RequestFailure, InterruptedException {
    var ready = scenario.prepare(target, 1);
    for (int i = 0; i < requests; i++) {
      ready.send(0, false);
    }
  }

  private static void refuse(Target target) throws InterruptedException {
    var request = target.json("POST", "/ops/relu", bytes(REFUSED));
    for (int i = 0; i < FEW; i++) {
      try {
        request.send(false, _ -> true);
        throw new LoadException("the service accepted a call without inputs");
      } catch (RequestFailure e) {
        // as it should be
      }
    }
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
