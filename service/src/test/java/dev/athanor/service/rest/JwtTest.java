package dev.athanor.service.rest;

import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.nullValue;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.JWSSigner;
import com.nimbusds.jose.crypto.ECDSASigner;
import com.nimbusds.jose.crypto.MACSigner;
import com.nimbusds.jose.crypto.RSASSASigner;
import com.nimbusds.jose.jwk.Curve;
import com.nimbusds.jose.jwk.ECKey;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.RSAKey;
import com.nimbusds.jose.jwk.gen.ECKeyGenerator;
import com.nimbusds.jose.jwk.gen.RSAKeyGenerator;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.PlainJWT;
import com.nimbusds.jwt.SignedJWT;
import com.sun.net.httpserver.HttpServer;
import dev.athanor.testing.TestTier;
import io.restassured.specification.RequestSpecification;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Date;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;
import org.springframework.test.context.TestPropertySource;

/** Tests the mode jwt, with a local issuer. */
@TestPropertySource(
    properties = {
      "athanor.security.mode=jwt",
      "athanor.security.jwt.tenant-claim=org",
      "spring.security.oauth2.resourceserver.jwt.issuer-uri=https://issuer.example",
      "spring.security.oauth2.resourceserver.jwt.audiences=athanor",
      "spring.security.oauth2.resourceserver.jwt.jws-algorithms=RS256"
    })
@Tag(TestTier.THOROUGH_TAG)
class JwtTest extends RestTest {

  private static final String INVALID =
      "Invalid token; it must be signed by the issuer, be for this audience, and not be expired";

  private static final RSAKey KEY = rsa("one");
  private static final RSAKey OTHER_KEY = rsa("one"); // with the same key ID
  private static final ECKey CURVE = ec();
  private static final AtomicBoolean DOWN = new AtomicBoolean();
  private static final HttpServer SERVER = server();

  private static RSAKey rsa(String name) {
    try {
      return new RSAKeyGenerator(2048).keyID(name).generate();
    } catch (JOSEException e) {
      throw new IllegalStateException(e);
    }
  }

  private static ECKey ec() {
    try {
      return new ECKeyGenerator(Curve.P_256).keyID("curve").generate();
    } catch (JOSEException e) {
      throw new IllegalStateException(e);
    }
  }

  private static HttpServer server() {
    try {
      var server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
      var keys =
          new JWKSet(List.of(KEY.toPublicJWK(), CURVE.toPublicJWK()))
              .toString()
              .getBytes(StandardCharsets.UTF_8);
      server.createContext(
          "/keys",
          exchange -> {
            if (DOWN.get()) {
              exchange.sendResponseHeaders(503, -1);
              exchange.close();
              return;
            }
            exchange.getResponseHeaders().add("Content-Type", "application/json");
            exchange.sendResponseHeaders(200, keys.length);
            exchange.getResponseBody().write(keys);
            exchange.close();
          });
      server.start();
      return server;
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  @DynamicPropertySource
  static void issuer(DynamicPropertyRegistry properties) {
    properties.add(
        "spring.security.oauth2.resourceserver.jwt.jwk-set-uri",
        () -> "http://127.0.0.1:%d/keys".formatted(SERVER.getAddress().getPort()));
  }

  @AfterAll
  static void stop() {
    SERVER.stop(0);
  }

  /** Returns valid claims with a change. */
  private static JWTClaimsSet claims(UnaryOperator<JWTClaimsSet.Builder> change) {
    return change
        .apply(
            new JWTClaimsSet.Builder()
                .issuer("https://issuer.example")
                .audience("athanor")
                .subject("someone")
                .expirationTime(Date.from(Instant.now().plusSeconds(600)))
                .claim("org", "lab")
                .claim("scope", "openid tensors:read ops:run"))
        .build();
  }

  private static String signed(
      JWTClaimsSet claims, JWSAlgorithm algorithm, String key, JWSSigner signer)
      throws JOSEException {
    var jwt = new SignedJWT(new JWSHeader.Builder(algorithm).keyID(key).build(), claims);
    jwt.sign(signer);
    return jwt.serialize();
  }

  private static String token(UnaryOperator<JWTClaimsSet.Builder> change) throws JOSEException {
    return signed(claims(change), JWSAlgorithm.RS256, "one", new RSASSASigner(KEY));
  }

  private RequestSpecification with(String token) {
    return given().header("Authorization", "Bearer " + token);
  }

  private void expectUnauthenticated(String token, String detail) {
    problem(with(token).get("/ops"), 401, "unauthenticated", null, detail)
        .header("WWW-Authenticate", "Bearer realm=\"athanor\", error=\"invalid_token\"");
  }

  @Test
  void tokenDeterminesTenantAndScopes() throws JOSEException {
    var reader = token(claims -> claims);
    with(reader).get("/tensors").then().statusCode(200).body("tensors", equalTo(List.of()));
    problem(
        with(reader).delete("/tensors?scope=a"),
        403,
        "forbidden",
        null,
        "This request needs the scope tensors:write; the token has ops:run, tensors:read.");
    var lab = token(claims -> claims.claim("scope", List.of("tensors:write", "tensors:read", "x")));
    var body = "{\"dtype\": \"f32\", \"shape\": [1], \"data\": [1]}";
    String handle =
        with(lab)
            .contentType("application/json")
            .body(body)
            .post("/tensors")
            .then()
            .statusCode(201)
            .extract()
            .path("handle");
    with(reader).get("/tensors/" + handle).then().statusCode(200);
    with(token(claims -> claims.claim("org", "other")))
        .get("/tensors/" + handle)
        .then()
        .statusCode(404);
    with(token(claims -> claims.claim("scope", null))).get("/ops").then().statusCode(200);
    with(token(claims -> claims.claim("scope", 7))).get("/tensors").then().statusCode(403);
  }

  @Test
  void rejectsRequestsWithoutAToken() {
    problem(
            given().get("/ops"),
            401,
            "unauthenticated",
            null,
            "Token required; send it as Authorization: Bearer …")
        .header("WWW-Authenticate", "Bearer realm=\"athanor\"");
    given().header("X-API-Key", "x").get("/ops").then().statusCode(401);
    given().get("/readyz").then().statusCode(200);
  }

  @Test
  void rejectsTokensForOtherAudiencesOrTimes() throws JOSEException {
    var past = Date.from(Instant.now().minusSeconds(120));
    expectUnauthenticated(token(claims -> claims.expirationTime(past)), INVALID);
    expectUnauthenticated(
        token(claims -> claims.notBeforeTime(Date.from(Instant.now().plusSeconds(300)))), INVALID);
    expectUnauthenticated(token(claims -> claims.audience("another")), INVALID);
    expectUnauthenticated(token(claims -> claims.audience((String) null)), INVALID);
    expectUnauthenticated(token(claims -> claims.issuer("https://evil.example")), INVALID);
    expectUnauthenticated(token(claims -> claims.issuer(null)), INVALID);
    expectUnauthenticated(
        token(claims -> claims.expirationTime(null)), "the token has no exp; tokens must expire");
    var nobody = "the token's claim org does not name a tenant";
    expectUnauthenticated(token(claims -> claims.claim("org", null)), nobody);
    expectUnauthenticated(token(claims -> claims.claim("org", "a/b")), nobody);
    expectUnauthenticated(token(claims -> claims.claim("org", List.of("lab"))), nobody);
  }

  /** A valid token must not be reported as invalid. */
  @Test
  void isUnavailableWithoutTheKeysOfTheIssuer() throws JOSEException {
    var unseen = signed(claims(c -> c), JWSAlgorithm.RS256, "new", new RSASSASigner(KEY));
    DOWN.set(true);
    try {
      var answer =
          problem(
              with(unseen).get("/ops"),
              503,
              "identity-provider-unavailable",
              null,
              "The token cannot be checked: the identity provider does not answer. Retry after 5 s.");
      answer.header("Retry-After", "5").header("WWW-Authenticate", nullValue());
    } finally {
      DOWN.set(false);
    }
    expectUnauthenticated(unseen, INVALID);
  }

  @Test
  void rejectsSignaturesOfOthers() throws JOSEException {
    var claims = claims(c -> c);
    expectUnauthenticated(new PlainJWT(claims).serialize(), INVALID);
    expectUnauthenticated(
        signed(claims, JWSAlgorithm.RS256, "one", new RSASSASigner(OTHER_KEY)), INVALID);
    expectUnauthenticated(
        signed(claims, JWSAlgorithm.RS256, "two", new RSASSASigner(OTHER_KEY)), INVALID);
    // the public key of RS256 as the secret of HS256
    for (var secret :
        List.of(
            KEY.toRSAPublicKey().getEncoded(),
            KEY.toPublicJWK().toJSONString().getBytes(StandardCharsets.UTF_8))) {
      expectUnauthenticated(
          signed(claims, JWSAlgorithm.HS256, "one", new MACSigner(secret)), INVALID);
    }
    // signed by the issuer, with algorithms that are not allowed
    expectUnauthenticated(
        signed(claims, JWSAlgorithm.ES256, "curve", new ECDSASigner(CURVE)), INVALID);
    expectUnauthenticated(
        signed(claims, JWSAlgorithm.RS512, "one", new RSASSASigner(KEY)), INVALID);
    var good = token(c -> c);
    var parts = List.of(good.split("\\.", -1));
    var other = List.of(token(c -> c.claim("org", "other")).split("\\.", -1));
    expectUnauthenticated(parts.get(0) + "." + other.get(1) + "." + parts.get(2), INVALID);
    expectUnauthenticated(parts.get(0) + "." + parts.get(1) + ".", INVALID);
    expectUnauthenticated("x", INVALID);
    expectUnauthenticated("..", INVALID);
  }
}
