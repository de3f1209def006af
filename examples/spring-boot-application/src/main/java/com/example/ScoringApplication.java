package com.example;

import dev.athanor.client.Athanor;
import dev.athanor.client.HostTensor;
import dev.athanor.client.Tensor;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;

/** Scores vectors of features by a linear model, whose weights stay on the device. */
@SpringBootApplication
public class ScoringApplication {

  public static void main(String[] arguments) {
    SpringApplication.run(ScoringApplication.class, arguments);
  }

  /** Uploads the weights [features, classes]. Spring closes the tensor, which deletes it. */
  @Bean
  Tensor weights(Athanor athanor) {
    float[] weights = {
      0.5f, -1.0f, 0.0f,
      1.5f, 0.0f, -0.5f,
      -2.0f, 0.5f, 1.0f,
      0.0f, -0.5f, 2.0f
    };
    return athanor.upload(HostTensor.of(weights, 4, 3), o -> o.name("weights"));
  }
}
