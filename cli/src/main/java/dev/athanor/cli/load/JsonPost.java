package dev.athanor.cli.load;

import java.io.IOException;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Sends one JSON document, as it is, to one path, and expects the same outputs each time. */
record Posting(String text, String path, Body body) implements Scenario {

  private static final JsonMapper JSON = new JsonMapper();

  @Override
  public long bytes() {
    return 0;
  }

  @Override
  public Ready prepare(Client client, Resident resident, int slots) throws InterruptedException {
    var request = client.request("POST", path, "application/json", body);
    var first = outputs(client.expect(request));
    return new Ready() {
      @Override
      public Client.Answer send(int slot, boolean keep) throws IOException, InterruptedException {
        return client.send(request, keep);
      }

      @Override
      public boolean right(byte[] answer) {
        try {
          return outputs(answer).equals(first);
        } catch (JacksonException e) {
          return false;
        }
      }

      @Override
      public boolean left() {
        return true;
      }
    };
  }

  static JsonNode outputs(byte[] answer) {
    return JSON.readTree(answer).path("outputs");
  }
}
