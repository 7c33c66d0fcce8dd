"""Recording a PyTorch training step as an emplace graph; see `export_torch.py`.

`step` builds the model and has one of two captures see its forward and backward pass: `eager`
watches the dispatcher, `joint` walks AOTAutograd's graph. Both tell `notes` of every aten call, in
the same words; `costs` says what a call computes and moves, `graph` makes the notes a graph file.
"""
