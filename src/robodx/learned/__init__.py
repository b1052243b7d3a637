"""Policies that were trained: networks in ONNX, run on one core."""
