package com.example;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.athanor.client.Athanor;
import dev.athanor.client.Tensor;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.webmvc.test.autoconfigure.AutoConfigureMockMvc;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.test.annotation.DirtiesContext;
import org.springframework.test.web.servlet.assertj.MockMvcTester;
import org.springframework.test.web.servlet.assertj.MvcTestResult;

/** Needs a service at {@code athanor.client.url}, such as that of {@code athanor serve}. */
@SpringBootTest
@AutoConfigureMockMvc
class ScoringApplicationTest {

  @Autowired MockMvcTester mvc;
  @Autowired Athanor athanor;
  @Autowired Tensor weights;

  private MvcTestResult post(String features) {
    return mvc.post()
        .uri("/scores")
        .contentType(MediaType.APPLICATION_JSON)
        .content(features)
        .exchange();
  }

  @Test
  void returnsTheProbabilityOfEachClass() {
    // The scores are 2, -1 and -0.5.
    double[] exponentials = {Math.exp(2), Math.exp(-1), Math.exp(-0.5)};
    double sum = exponentials[0] + exponentials[1] + exponentials[2];
    assertThat(post("[1, 1, 0, 0]"))
        .hasStatusOk()
        .bodyJson()
        .convertTo(double[].class)
        .satisfies(scores -> {
          for (int i = 0; i < 3; i++) {
            assertThat(scores[i]).isCloseTo(exponentials[i] / sum, within(1e-6));
          }
        });
  }

  @Test
  @DirtiesContext
  void reportsFailuresOfTheService() {
    athanor.attach(weights.handle()).delete();
    assertThat(post("[1, 1, 0, 0]")).hasStatus(HttpStatus.SERVICE_UNAVAILABLE);
  }

  @Test
  void rejectsOtherNumbersOfFeatures() {
    assertThat(post("[1, 1]"))
        .hasStatus(HttpStatus.BAD_REQUEST)
        .hasErrorMessage("Expected 4 features, got 2.");
  }
}
