package dev.athanor.service.rest;

import static org.hamcrest.Matchers.containsString;

import dev.athanor.testing.TestTier;
import io.restassured.response.Response;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.test.context.TestPropertySource;

/** Tests the limits of a tenant's tensors, in a separate service without other tensors. */
@TestPropertySource(properties = "athanor.replica=quota")
@Tag(TestTier.THOROUGH_TAG)
class QuotaTest extends RestTest {

  @Test
  void enforcesQuotasBeforeReadingTheBody() {
    int size = 30 << 20;
    octets(size, "big").then().statusCode(201);
    octets(size, "big").then().statusCode(201);
    problem(
            octets(5 << 20, "big"),
            429,
            "quota-exceeded",
            null,
            "Quota exceeded by a tensor of 5242880 bytes: 62914560 of 67108864 bytes and 2 of 50 tensors are in use. Delete tensors or let their leases end.")
        .header("Retry-After", "10");
    given().queryParam("scope", "big").delete("/tensors").then().statusCode(204);
    for (int i = 0; i < 50; i++) {
      octets(1, "many").then().statusCode(201);
    }
    problem(
        octets(1, "many"),
        429,
        "quota-exceeded",
        null,
        "Quota exceeded by another tensor: 50 of 67108864 bytes and 50 of 50 tensors are in use. Delete tensors or let their leases end.");
    given().queryParam("scope", "many").delete("/tensors").then().statusCode(204);
    given()
        .get("/actuator/prometheus")
        .then()
        .body(containsString("athanor_tensors{device=\"fake:0\"} 0.0"));
  }

  private Response octets(int bytes, String scope) {
    return given()
        .contentType("application/octet-stream")
        .queryParam("dtype", "u8")
        .queryParam("shape", bytes)
        .queryParam("scope", scope)
        .body(new byte[bytes])
        .post("/tensors");
  }
}
