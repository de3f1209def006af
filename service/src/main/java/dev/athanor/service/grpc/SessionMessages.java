package dev.athanor.service.grpc;

import dev.athanor.api.v1.GenerateEnd;
import dev.athanor.api.v1.GenerateRequest;
import dev.athanor.api.v1.GenerateResponse;
import dev.athanor.service.session.Generation;
import dev.athanor.service.session.Session;
import java.util.HashMap;
import java.util.Set;

/** Converts sessions, and requests to generate tokens. */
final class SessionMessages {

  private SessionMessages() {}

  static dev.athanor.api.v1.Session session(Session session) {
    var summary = session.summary();
    var message =
        dev.athanor.api.v1.Session.newBuilder()
            .setSession(summary.session())
            .setModel(summary.model())
            .setVersion(summary.version())
            .setLength(summary.length())
            .setBytes(summary.bytes());
    if (summary.expiresAt() != null) {
      message.setExpiresAt(Messages.time(summary.expiresAt()));
    }
    return message.build();
  }

  static Generation.Request generation(GenerateRequest request) {
    if (request.getTokensCount() > Generation.Request.LONGEST_PROMPT) {
      throw Generation.Request.tooMany("tokens", Generation.Request.LONGEST_PROMPT);
    }
    if (request.getStopCount() > Generation.Request.MOST_STOPS) {
      throw Generation.Request.tooMany("stop", Generation.Request.MOST_STOPS);
    }
    var sampling = new HashMap<String, Object>();
    if (request.hasTemperature()) {
      sampling.put("temperature", request.getTemperature());
    }
    if (request.hasTopK()) {
      sampling.put("topK", request.getTopK());
    }
    if (request.hasTopP()) {
      sampling.put("topP", request.getTopP());
    }
    if (request.hasMinP()) {
      sampling.put("minP", request.getMinP());
    }
    return new Generation.Request(
        request.getTokensList(),
        request.hasMaxTokens()
            ? Generation.Request.maxTokens("max_tokens", request.getMaxTokens())
            : Generation.Request.DEFAULT_TOKENS,
        Set.copyOf(request.getStopList()),
        request.hasSeed() ? request.getSeed() : Generation.Request.drawSeed(),
        sampling);
  }

  static GenerateResponse token(long token) {
    return GenerateResponse.newBuilder().setToken(token).build();
  }

  static GenerateResponse end(Generation generation, String reason) {
    return GenerateResponse.newBuilder()
        .setEnd(
            GenerateEnd.newBuilder()
                .setReason(reason)
                .setSeed(generation.seed())
                .setLength(generation.length()))
        .build();
  }
}
