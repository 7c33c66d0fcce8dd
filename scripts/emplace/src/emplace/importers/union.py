"""Disjoint sets (union-find)."""

from __future__ import annotations

from typing import Generic, Hashable, TypeVar

Item = TypeVar("Item", bound=Hashable)


class Union(Generic[Item]):
    """Disjoint sets of items, each identified by one of them; an item that was never joined is alone."""

    def __init__(self) -> None:
        self._parent: dict[Item, Item] = {}

    def root(self, item: Item) -> Item:
        while (parent := self._parent.setdefault(item, item)) != item:
            self._parent[item] = self._parent[parent]
            item = self._parent[item]
        return item

    def join(self, a: Item, b: Item) -> None:
        """Joins the sets of two items; the result is identified as that of `a` was."""
        self._parent[self.root(b)] = self.root(a)
