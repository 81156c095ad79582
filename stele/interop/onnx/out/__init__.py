"""Programs written as ONNX models: one rule for each op, in files by family."""
