import { z } from 'zod';
import { ARRAY_KINDS, type ArrayKind, type DeclaredArrays } from './p4-info-declared.js';

const Size = z.int().min(0);
const CellArray = z.looseObject({ name: z.string(), is_direct: z.boolean().nullish(), size: Size.nullish() });

/** Counters, meters and registers of BMv2 JSON. */
export const Bmv2Arrays = z.looseObject({
  counter_arrays: z.array(CellArray).default([]),
  meter_arrays: z.array(CellArray).default([]),
  register_arrays: z.array(CellArray).default([]),
});
type Bmv2Arrays = z.infer<typeof Bmv2Arrays>;

/**
 * What counters, meters and registers differ by, in words. The compiler leaves none out, unlike tables and actions; those of a
 * table are told by its number.
 */
export const arrayFaults = (program: Bmv2Arrays, declared: DeclaredArrays): string[] =>
  ARRAY_KINDS.flatMap((kind) => faultsOf(kind, program, declared));

function faultsOf(kind: ArrayKind, program: Bmv2Arrays, declared: DeclaredArrays): string[] {
  const inJson = new Map(
    program[`${kind}_arrays`].flatMap((one) => (one.is_direct === true ? [] : [[one.name, one.size] as const])),
  );
  const named = new Map(declared[kind].map(({ name, size }) => [name, size]));
  const missing = [...named.keys()].filter((name) => !inJson.has(name));
  const unnamed = [...inJson.keys()].filter((name) => !named.has(name));
  const sizes = [...named].flatMap(([name, size]) => {
    const there = inJson.get(name);
    return typeof there === 'number' && there !== size
      ? [`${kind} ${name} has ${size} cells, and ${there} in the JSON`]
      : [];
  });
  return [
    ...missing.map((name) => `${kind} ${name} is not in the JSON`),
    ...unnamed.map((name) => `lacks ${kind} ${name} of the JSON`),
    ...sizes,
  ];
}
