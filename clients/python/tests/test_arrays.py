"""What arrays become on their way to the service, and back."""

from __future__ import annotations

import unittest
from typing import Any
from unittest import mock

import numpy as np

from athanor._arrays import decode_safetensors, encode_safetensors, from_bytes, numpy_dtype, to_host


class ArraysTest(unittest.TestCase):
    def test_arrays_are_not_copied(self) -> None:
        array = np.arange(6, dtype=np.float32).reshape(2, 3)
        host = to_host(array)
        array[1, 2] = 9
        self.assertEqual(("f32", (2, 3)), host[:2])
        self.assertEqual(array.tobytes(), host.data.tobytes())
        np.testing.assert_array_equal(array, from_bytes("f32", (2, 3), host.data))

    def test_every_dtype_of_numpy_comes_back(self) -> None:
        for code in ("f8", "f4", "f2", "i8", "i4", "i2", "i1", "u1", "u4", "?"):
            with self.subTest(code):
                array = np.array([[1, 0, 1]]).astype(code)
                host = to_host(array)
                self.assertEqual(np.dtype(code), numpy_dtype(host.dtype))
                np.testing.assert_array_equal(array, from_bytes(*host))

    def test_odd_layouts_become_little_endian_rows(self) -> None:
        big = np.arange(6, dtype=">f4").reshape(2, 3)
        self.assertEqual(np.arange(6, dtype="<f4").tobytes(), to_host(big).data.tobytes())
        rows = np.arange(6, dtype=np.int32).reshape(2, 3)
        self.assertEqual(rows.T.tobytes(), to_host(rows.T).data.tobytes())
        self.assertEqual(rows[:, ::2].tobytes(), to_host(rows[:, ::2]).data.tobytes())
        for scalar in (np.array(2.5, np.float32), np.float32(2.5)):
            self.assertEqual(
                ("f32", (), np.float32(2.5).tobytes()), (*to_host(scalar)[:2], bytes(to_host(scalar).data))
            )

    def test_other_arrays_come_through_their_protocols(self) -> None:
        array = np.arange(3, dtype=np.int64)

        class DLPack:
            def __dlpack__(self, **options: Any) -> Any:
                return array.__dlpack__(**options)

            def __dlpack_device__(self) -> Any:
                return array.__dlpack_device__()

        class Legacy:
            def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
                return array

        class Unshareable(DLPack, Legacy):
            def __dlpack__(self, **options: Any) -> Any:
                raise BufferError("not this one")

        for other in (DLPack(), Legacy(), Unshareable()):
            self.assertEqual(array.tobytes(), to_host(other).data.tobytes())
        self.assertTrue(np.shares_memory(array, np.frombuffer(to_host(DLPack()).data, np.int64)))

    def test_what_the_service_lacks_is_refused_with_a_remedy(self) -> None:
        with self.assertRaisesRegex(
            TypeError, "the service has no dtype complex128; convert the array to one of f64, "
        ):
            to_host(np.array([1j]))
        with self.assertRaisesRegex(TypeError, r"a masked array would lose its mask; pass array.filled\(value\)"):
            to_host(np.ma.masked_array([1.0, 2.0], mask=[True, False]))
        with self.assertRaisesRegex(TypeError, r"list is no array; pass numpy.asarray\(value, dtype=…\)"):
            to_host([1.0, 2.0])  # type: ignore[arg-type]
        with self.assertRaisesRegex(
            TypeError, r"numpy has no dtype q4_k; read the bytes with raw\(\), or call dequantize"
        ):
            numpy_dtype("q4_k")
        with (
            mock.patch.dict("sys.modules", ml_dtypes=None),
            mock.patch("numpy.dtype", side_effect=TypeError),
            self.assertRaisesRegex(TypeError, "numpy has no dtype bf16; install ml_dtypes, read the bytes"),
        ):
            numpy_dtype("bf16")

    def test_ml_dtypes(self) -> None:
        try:
            import ml_dtypes
        except ImportError:
            self.skipTest("ml_dtypes is not installed")
        for dtype, kind in (
            ("bf16", ml_dtypes.bfloat16),
            ("e4m3", ml_dtypes.float8_e4m3fn),
            ("e5m2", ml_dtypes.float8_e5m2),
        ):
            host = to_host(np.array([1.5, -2], kind))
            self.assertEqual(dtype, host.dtype)
            np.testing.assert_array_equal(np.array([1.5, -2], kind), from_bytes(*host))

    def test_safetensors(self) -> None:
        arrays = {"a": np.arange(3, dtype=np.int8), "é": np.array(2.5), "c": np.ones((2, 2), np.float16)}
        parts = encode_safetensors({name: to_host(array) for name, array in arrays.items()})
        self.assertEqual(0, parts[0].nbytes % 8)
        decoded = decode_safetensors(b"".join(parts))
        self.assertEqual(arrays.keys(), decoded.keys())
        for name, array in arrays.items():
            self.assertEqual(array.dtype, decoded[name].dtype)
            np.testing.assert_array_equal(array, decoded[name])
        self.assertEqual({}, decode_safetensors(b"".join(encode_safetensors({}))))
