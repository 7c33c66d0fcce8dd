"""Result shapes of ops that PyTorch's own rules refuse; `ShapeMode` consults these rules first.

- A grouped product (mixture of experts): PyTorch's rule accepts only bf16, the kernels accept other types, too.
- The CTC loss: PyTorch's rule refuses lengths in a tensor, though the values of labels may be known.
"""

from __future__ import annotations

from typing import Any, Callable

import torch

aten = torch.ops.aten


def _grouped_mm(values: Callable[[torch.Tensor], torch.Tensor | None], a: torch.Tensor, b: torch.Tensor,
                offs: torch.Tensor | None = None, bias: torch.Tensor | None = None,
                out_dtype: torch.dtype | None = None) -> torch.Tensor:
    """Returns the product of each group of rows (columns).

    `offs` divides `a`, `b` or both into groups.
    """
    if a.dim() == 2 and b.dim() == 2:
        shape = (offs.shape[0], a.shape[0], b.shape[1])
    elif a.dim() == 3 and b.dim() == 3:
        shape = (a.shape[0], a.shape[1], b.shape[2])
    else:
        shape = (a.shape[-2], b.shape[-1])
    return torch.empty(shape, dtype=out_dtype or a.dtype)


def _ctc_loss(values: Callable[[torch.Tensor], torch.Tensor | None], log_probs: torch.Tensor,
              targets: torch.Tensor, input_lengths: torch.Tensor, target_lengths: torch.Tensor, *_: Any,
              **__: Any) -> Any:
    """Returns losses [batch], and log alphas [batch, time, 2 * longest target + 1]."""
    lengths = values(target_lengths)
    if lengths is None:
        return NotImplemented
    time, batch = log_probs.shape[:2]
    longest = int(lengths.max()) if lengths.numel() else 0
    return (log_probs.new_empty(batch), log_probs.new_empty(batch, time, 2 * longest + 1))


RULES: dict[torch._ops.OpOverload, Callable[..., Any]] = {
    aten._grouped_mm.default: _grouped_mm,
    aten._ctc_loss.Tensor: _ctc_loss,
}
