package dev.athanor.service.stream;

import dev.athanor.service.device.Activity;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;

/** A stream and its current work. */
final class StreamWorker {
  final int device;
  final int number;

  /** Receives work only while the stream is idle. */
  final BlockingQueue<List<PendingJob>> started = new ArrayBlockingQueue<>(1);

  final Activity activity;

  /** The jobs of the current launch. */
  volatile List<PendingJob> launch = List.of();

  StreamWorker(int device, int number, Activity activity) {
    this.device = device;
    this.number = number;
    this.activity = activity;
  }
}
