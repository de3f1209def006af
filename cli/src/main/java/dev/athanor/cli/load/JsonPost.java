package dev.athanor.cli.load;

/** Posts a fixed JSON document to a path and expects the same outputs each time. */
@SuppressWarnings("ArrayRecordComponent") // read only, never compared
record JsonPost(String text, String path, byte[] body) implements Scenario {

  @Override
  public long bytes() {
    return 0;
  }

  @Override
  public Ready prepare(Target target, int slots) throws InterruptedException {
    var request = target.json("POST", path, body);
    var first = request.expect().path("outputs");
    return (_, check) -> request.send(check, answer -> answer.path("outputs").equals(first));
  }
}
