package dev.athanor.testing;

import java.util.Map;

/**
 * Small checkpoints in the layout of Hugging Face, which {@code export_checkpoints.py} of the
 * module models writes. Each has the files {@code config.json}, {@code model.safetensors}, {@code
 * inputs.safetensors} and {@code outputs.safetensors}.
 */
public final class CheckpointFiles {

  private CheckpointFiles() {}

  /** Returns the files of each checkpoint. */
  public static Map<String, Map<String, byte[]>> all() {
    return OnnxFiles.read("checkpoints.zip.gz");
  }
}
