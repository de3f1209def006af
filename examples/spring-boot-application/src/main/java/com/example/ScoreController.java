package com.example;

import dev.athanor.client.Athanor;
import dev.athanor.client.AthanorException;
import dev.athanor.client.HostTensor;
import dev.athanor.client.Tensor;
import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;

@RestController
class ScoreController {

  private final Athanor athanor;
  private final Tensor weights;

  ScoreController(Athanor athanor, Tensor weights) {
    this.athanor = athanor;
    this.weights = weights;
  }

  /** Returns the probability of each class, from one request to the service. */
  @PostMapping("/scores")
  float[] score(@RequestBody float[] features) {
    long expected = weights.shape().get(0);
    if (features.length != expected) {
      throw new ResponseStatusException(
          HttpStatus.BAD_REQUEST,
          "Expected %d features, got %d.".formatted(expected, features.length));
    }
    var pipeline = athanor.pipeline();
    var scores = pipeline.matmul(HostTensor.of(features, 1, expected), weights);
    var probabilities = pipeline.softmax(scores);
    return pipeline.run().values(probabilities).toFloats();
  }

  /** The client has retried where that helps; the caller may try again later. */
  @ExceptionHandler
  ProblemDetail unavailable(AthanorException e) {
    return ProblemDetail.forStatusAndDetail(HttpStatus.SERVICE_UNAVAILABLE, e.detail());
  }
}
