import type { ChainDefinition } from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Spending } from '../budget.js';
import { seededRandom } from '../random.js';
import { arbitraryChain } from '../testing/arbitrary.js';
import { chainOf } from '../testing/chains.js';
import { CATALOGUE } from '../testing/descriptors.js';
import { interval } from './interval-set.js';
import { type Box, mergeBoxes } from './packet-space.js';
import { pathsOf } from './paths.js';
import { validateChain } from './validate.js';

const CONTEXT = { descriptors: CATALOGUE, hosts: [{ id: 'client-1' }] };
const isUnproven = ({ severity, message }: { severity: string; message: string }) =>
  severity === 'error' && message.startsWith('not proven');

/** Many NFs, each with several edges to later ones, whose filters negate prefixes and ports drawn at random. */
function tangle(nfs: number, edges: number): ChainDefinition {
  const random = seededRandom(7);
  const pick = (below: number) => Math.floor(random() * below);
  const names = Array.from({ length: nfs }, (_, i) => `n${i}`);
  const drawn = Array.from({ length: edges }, (_, i): Parameters<typeof chainOf>[1][number] => {
    const from = i < nfs ? i : pick(nfs);
    const to = i < nfs ? from + 1 : from + 1 + pick(nfs - from);
    return [
      names[from]!,
      names[to] ?? 'out',
      [
        ['ip.src', 'is-not', `${pick(200)}.${pick(4)}.0.0/16`],
        ['ip.dst', 'is-not', `${pick(200)}.0.0.0/8`],
        ['port.dst', 'is-not', `${pick(900)}-${1000 + pick(900)}`],
      ],
    ];
  });
  return chainOf(Object.fromEntries(names.map((id) => [id, 'monitor'])), [['in', 'n0'], ...drawn]);
}

describe('a validation with a budget', () => {
  it('says the same as one without, or that it proves nothing: never that a chain is sound', () => {
    const seen = { same: 0, unproven: 0 };
    fc.assert(
      fc.property(
        arbitraryChain({ nfs: ['ids', 'monitor', 'firewall'], maxNodes: 8, exact: false }),
        fc.integer({ min: 0, max: 400 }),
        (definition, steps) => {
          const found = validateChain(definition, CONTEXT, { steps });
          if (found.some(isUnproven)) {
            seen.unproven++;
            return;
          }
          seen.same++;
          expect(found).toEqual(validateChain(definition, CONTEXT, { steps: Number.MAX_SAFE_INTEGER }));
        },
      ),
      { numRuns: 300, seed: 47 },
    );
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(20);
  });

  it('ends soon after its time is over, and by default after a bounded number of steps', () => {
    const definition = tangle(74, 528);
    let looks = 0;
    const problems = validateChain(definition, CONTEXT, { steps: Number.MAX_SAFE_INTEGER, expired: () => ++looks > 3 });
    expect(problems.filter(isUnproven)).toHaveLength(1);
    expect(looks).toBe(4);
    expect(validateChain(definition, CONTEXT).filter(isUnproven)).toHaveLength(1);
  });

  it('counts a look at boxes of many dimensions or intervals as several', () => {
    const boxes = (dimensions: number, pieces: number) =>
      Array.from({ length: 10 }, (_, i): Box => {
        const set = Array.from({ length: pieces }, (_, k) => [4 * k, 4 * k + 1] as const);
        const wide = Array.from({ length: dimensions }, (_, k) => [`n${k}.verdict`, set] as const);
        return new Map([...wide, ['port.dst', interval(10 * i, 10 * i + 1)], ['ip.src', interval(10 * i, 10 * i + 1)]]);
      });
    const suffices = (steps: number, those: readonly Box[]) => {
      const spending = new Spending({ steps });
      mergeBoxes(those, new Map(), spending);
      return !spending.isOver;
    };
    const looks = (10 * 9) / 2;
    expect(suffices(looks, boxes(5, 2))).toBe(true);
    for (const wide of [boxes(200, 2), boxes(2, 200)]) {
      expect(suffices(20 * looks, wide)).toBe(false);
      expect(suffices(30 * looks, wide)).toBe(true);
    }
  });

  it('counts no path in vain where none leads to the egress', () => {
    const diamonds = Array.from({ length: 30 }, (_, i) => i).flatMap((i) => [
      [`a${i}`, `b${i}`, [['port.dst', 'is', 80]]],
      [`a${i}`, `c${i}`, [['port.dst', 'is-not', 80]]],
      [`b${i}`, `a${i + 1}`],
      [`c${i}`, `a${i + 1}`],
    ]) as Parameters<typeof chainOf>[1];
    const names = [...new Set(diamonds.flatMap(([from, to]) => [from as string, to]))];
    const definition = chainOf(Object.fromEntries(names.map((id) => [id, 'monitor'])), [['in', 'a0'], ...diamonds]);
    expect(pathsOf(definition)).toEqual([]);
  });
});
