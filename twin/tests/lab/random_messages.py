# SPDX-License-Identifier: Apache-2.0
import random

from finsy.proto import p4r

from .p4_switch import Client


class RandomMessages:
    """Fills messages at random, with the numbers of the program where a field is one."""

    def __init__(self, client: Client, chance: random.Random) -> None:
        self.chance = chance
        info = client.schema.p4info
        lists = (info.tables, info.actions, info.action_profiles, info.counters, info.direct_counters, info.meters)
        more = (info.direct_meters, info.registers, info.value_sets, info.digests)
        self.numbers = [each.preamble.id for each_list in (*lists, *more) for each in each_list]
        self.numbers += [0, 1, 2, 3, 4, 511, 65535, 2**31 - 1]

    def update(self) -> p4r.Update:
        made = p4r.Update(type=self.chance.choice([0, 1, 1, 1, 2, 2, 3]))
        made.entity.CopyFrom(self.entity())
        return made

    def entity(self) -> p4r.Entity:
        made = p4r.Entity()
        self.fill(made)
        return made

    def fill(self, message: object, depth: int = 0) -> None:
        descriptor = message.DESCRIPTOR  # type: ignore[attr-defined]
        if descriptor.full_name == "google.protobuf.Any":
            return
        skipped = {
            field.name
            for oneof in descriptor.oneofs
            for field in oneof.fields
            if field is not self.chance.choice(oneof.fields)
        }
        for field in descriptor.fields:
            if field.name in skipped or self.chance.random() < 0.25:
                continue
            count = self.chance.randrange(3) if field.is_repeated else 1
            for _ in range(count):
                self.set(message, field, depth)

    def set(self, message: object, field: object, depth: int) -> None:
        name, kind = field.name, field.cpp_type  # type: ignore[attr-defined]
        repeated = field.is_repeated  # type: ignore[attr-defined]
        if kind == field.CPPTYPE_MESSAGE:  # type: ignore[attr-defined]
            if depth < 6:
                part = getattr(message, name)
                self.fill(part.add() if repeated else part, depth + 1)
            if depth < 6 and not repeated:
                getattr(message, name).SetInParent()
            return
        value: object
        if kind in (field.CPPTYPE_INT32, field.CPPTYPE_INT64):  # type: ignore[attr-defined]
            value = self.chance.choice([0, 1, 2, 8, 16, 64, -1, 2**31 - 1, -(2**31)])
        elif kind in (field.CPPTYPE_UINT32, field.CPPTYPE_UINT64):  # type: ignore[attr-defined]
            value = self.chance.choice(self.numbers)
        elif kind == field.CPPTYPE_BOOL:  # type: ignore[attr-defined]
            value = self.chance.random() < 0.2
        elif kind == field.CPPTYPE_ENUM:  # type: ignore[attr-defined]
            value = self.chance.randrange(4)
        elif field.type == field.TYPE_BYTES:  # type: ignore[attr-defined]
            value = self.chance.randbytes(self.chance.choice([0, 1, 1, 1, 2, 4, 4, 6, 8, 20]))
        else:
            value = self.chance.choice(["", "x"])
        if repeated:
            getattr(message, name).append(value)
        else:
            setattr(message, name, value)
