"""torchvision's Inception-V3 and ResNet-50, set up as for training on ImageNet (1000 classes)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
import torchvision

from . import TrainingSetup

AUX_WEIGHT = 0.4  # of the auxiliary classifier's loss, as in torchvision's training script


def inception_loss(outputs: torchvision.models.InceptionOutputs,
                   labels: torch.Tensor) -> torch.Tensor:
    """Returns the cross-entropy of the classifier plus AUX_WEIGHT times that of the auxiliary one."""
    loss = F.cross_entropy(outputs.logits, labels)
    return loss + AUX_WEIGHT * F.cross_entropy(outputs.aux_logits, labels)


def build_inception_v3(batch: int) -> TrainingSetup:
    """Builds the set-up. Inputs: images [batch, 3, 299, 299]; targets: labels [batch]."""
    module = torchvision.models.inception_v3(weights=None, aux_logits=True, init_weights=False)
    return _image_classifier(module, batch, 299, inception_loss)


def build_resnet50(batch: int) -> TrainingSetup:
    """Builds the set-up. Inputs: images [batch, 3, 224, 224]; targets: labels [batch]."""
    return _image_classifier(torchvision.models.resnet50(weights=None), batch, 224,
                             F.cross_entropy)


def _image_classifier(module: torch.nn.Module, batch: int, side: int, loss_fn) -> TrainingSetup:
    images = torch.empty(batch, 3, side, side)
    labels = torch.empty(batch, dtype=torch.int64)
    return TrainingSetup(module, (images,), (labels,), loss_fn, ("images",), ("labels",))
