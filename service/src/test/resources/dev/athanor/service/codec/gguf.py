"""Writes reference.gguf: pip install gguf==0.19.0, then python3 gguf.py here."""

import sys

sys.path.pop(0)  # this file has the name of the package
import gguf
import numpy as np

writer = gguf.GGUFWriter("reference.gguf", "test")
writer.add_description("a file of all kinds of tensors")
writer.add_token_list(["a", "bc", ""])
writer.add_token_scores([0.5, 1.0, 2.0])
writer.add_tensor("dense.weight", np.arange(6, dtype=np.float32).reshape(2, 3))
writer.add_tensor("half.weight", np.float16([1, -2, 0.5]))
rows = np.float32([[127, *range(1, 32)], [-127, *range(-1, -32, -1)]])
q8_0 = gguf.GGMLQuantizationType.Q8_0
writer.add_tensor("blocks.weight", gguf.quants.quantize(rows, q8_0), raw_dtype=q8_0)
writer.add_tensor("index", np.arange(4, dtype=np.int32).reshape(1, 2, 2))
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
