package dev.athanor.cli.load;

/** A kind of request that is sent repeatedly. */
public interface Scenario {

  /** The scenario as the user typed it. */
  String text();

  /** Tensor bytes that one request transfers; 0 if bandwidth is not reported. */
  long bytes();

  /**
   * Uploads the tensors of the requests.
   *
   * @param slots number of slots, each with its own tensors
   * @throws LoadException if a request fails or the first result is wrong
   * @throws dev.athanor.client.AthanorException if a request of the Java client fails
   */
  Ready prepare(Target target, int slots) throws InterruptedException;

  /** A prepared scenario. */
  @FunctionalInterface
  interface Ready {

    /**
     * Sends a request and waits for the response.
     *
     * @param slot the slot whose tensors the request uses
     * @param check whether the response will be checked
     * @throws RequestFailure if the request fails
     * @throws dev.athanor.client.AthanorException if a request of the Java client fails
     */
    Response send(int slot, boolean check) throws RequestFailure, InterruptedException;

    /** Returns whether the resident tensors have the expected contents after the measurement. */
    default boolean residentTensorsAreCorrect() {
      return true;
    }
  }
}
