package dev.athanor.cli.load;

/** What is asked of the service, again and again. */
public interface Scenario {

  /** As it was written. */
  String text();

  /** The bytes of tensors that one request moves, for bandwidths; 0 if it is not about bytes. */
  long bytes();

  /**
   * Uploads what the requests need.
   *
   * @param slots how many requests are under way at once, each with tensors of its own
   * @throws LoadException if the service refuses it, or a first result is wrong
   * @throws dev.athanor.client.AthanorException if the service refuses it
   */
  Ready prepare(Target target, int slots) throws InterruptedException;

  /** Requests that can be sent now. */
  @FunctionalInterface
  interface Ready {

    /**
     * Sends a request of one slot and waits for the answer, any number of times.
     *
     * @param check whether the answer will be checked
     * @throws dev.athanor.client.AthanorException or Refused if there is no result
     */
    Answer send(int slot, boolean check) throws Refused, InterruptedException;

    /** Whether what the requests have left on the service is as it has to be. */
    default boolean left() {
      return true;
    }
  }
}
