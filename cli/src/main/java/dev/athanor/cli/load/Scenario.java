package dev.athanor.cli.load;

import java.io.IOException;

/** What is asked of the service, again and again. */
public interface Scenario {

  /** As it was written. */
  String text();

  /**
   * The bytes of tensors that one request moves, for figures of bandwidth; 0 where that is no
   * matter.
   */
  long bytes();

  /**
   * Brings to the service what the requests need.
   *
   * @param resident takes the tensors that are brought, and deletes them in the end
   * @param slots how many requests are under way at once, each with tensors of its own
   * @throws LoadException when the service refuses it, or a first result is wrong
   */
  Ready prepare(Client client, Resident resident, int slots) throws InterruptedException;

  /** Requests that can be sent now. */
  interface Ready {

    /**
     * Sends a request of one slot and waits for the answer, any number of times.
     *
     * @param keep whether the body of the answer is wanted, and not only to be read
     */
    Client.Answer send(int slot, boolean keep) throws IOException, InterruptedException;

    /** Whether the answer to such a request is what it has to be; a sample of answers is asked. */
    boolean right(byte[] body);

    /** Whether what the requests have left on the service is as it has to be. */
    boolean left() throws InterruptedException;
  }
}
