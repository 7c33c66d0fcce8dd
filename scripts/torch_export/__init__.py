"""Recording a PyTorch training step as an emplace graph; see `export_torch.py`.

`recorder` watches the dispatcher and notes every aten op, `step` runs forward, backward and update
under it, `costs` says what an op computes and moves, `graph` turns the notes into a graph file.
"""
