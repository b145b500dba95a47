import type { InstanceSpec, MatchTerm } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { instance, output } from '../../testing/specs.js';
import { ADAPTERS } from './modules/index.js';
import { hopWrites, NoSuchHop } from './next-hops.js';
import { BOARD_MODULES } from './registers.js';

const { HOPS_FORWARD_0, HOPS_FORWARD_1, HOPS_RETURN_0, HOPS_RETURN_1 } = BOARD_MODULES.nf_shell.registers;
const adapter = (nf: string) => ADAPTERS.find((each) => each.nf === nf)!;
const DDOS = adapter('ddos-detector');
const VERDICT = { verdict: { offset: 3, width: 2, values: { normal: 1, attack: 2 } } };

const inSlot = (over: Partial<InstanceSpec>, hangs = true) =>
  instance('p.nf.b1-1', {
    driver: 'board',
    board: { board: 'b1', slot: 1, load: 'partial', policy: 'hold', ...(hangs ? { attached: 'switch' } : {}) },
    ...over,
  });
const to = (edge: string, hop: number, ...match: MatchTerm[]) => ({ ...output(edge, { kind: 'hop', hop }), match });
const verdict = (value: number, not = false) => ({ field: 'metadata', offset: 3, width: 2, value, not }) as const;
const written = (nf: string, one: InstanceSpec) => new Map(hopWrites(1, adapter(nf), one));
const wordsOf = (words: ReadonlyMap<number, number>) =>
  [HOPS_FORWARD_0, HOPS_FORWARD_1, HOPS_RETURN_0, HOPS_RETURN_1].map(({ address, stride }) =>
    words.get(address + stride),
  );

describe('the next hops of a slot at a switch', () => {
  it('are the same for every class of an NF with one output; what comes back is dropped', () => {
    const one = inSlot({ outputs: [to('e1', 0x1234)] });
    expect(wordsOf(written('stateful-firewall', one))).toEqual([0x12341234, 0x12341234, 0xffffffff, 0xffffffff]);
  });

  it('are those of the outputs that take the classes; a class that none takes is dropped', () => {
    const outputs = [to('e1', 7, verdict(1)), to('e2', 9, verdict(2))];
    const words = wordsOf(written('ddos-detector', inSlot({ metadata: VERDICT, outputs })));
    // Class 0 finds nothing, 1 is normal, 2 an attack, and 3 nothing that the detector knows.
    expect(words.slice(0, 2)).toEqual([(7 << 16) + 0xffff, 0xffff_0009]);
  });

  it('take the first output whose terms hold, also negated ones', () => {
    const outputs = [to('e1', 5, verdict(2, true)), to('e2', 6)];
    const words = wordsOf(written('ddos-detector', inSlot({ metadata: VERDICT, outputs })));
    expect(words.slice(0, 2)).toEqual([0x0005_0005, 0x0005_0006]);
  });

  it('are those of an address-rewriting NF for replies', () => {
    const one = inSlot({ outputs: [to('e1', 5)], return_to: { kind: 'hop', hop: 0x21 } });
    expect(wordsOf(written('nat', one))[2]).toBe(0x0021_0021);
  });

  it('are left alone beside an engine', () => {
    const one = inSlot({ outputs: [output('e1', { kind: 'exit', exit_id: 'x' })] }, false);
    expect(wordsOf(written('stateful-firewall', one))).toEqual([0, 0, 0, 0]);
  });

  it.each<[string, Partial<InstanceSpec>]>([
    ['an exit', { outputs: [output('e1', { kind: 'exit', exit_id: 'x' })] }],
    ['an instance of the engine', { outputs: [output('e1', { kind: 'instance', instance_id: 'p.x.0' })] }],
    [
      'several instances',
      {
        outputs: [
          {
            ...to('e1', 1),
            key: ['ip.src'],
            targets: [
              { range: { lo: 0, hi: 30_000 }, to: { kind: 'hop', hop: 1 } },
              { range: { lo: 30_000, hi: 65_536 }, to: { kind: 'hop', hop: 2 } },
            ],
          },
        ],
      },
    ],
    ['outputs by header fields', { outputs: [to('e1', 1, { field: 'ip.proto', value: 6, not: false })] }],
    ['outputs by what another NF found', { outputs: [to('e1', 1, { ...verdict(1), offset: 8 })] }],
  ])('refuse %s', (_, over) => {
    expect(() => hopWrites(1, DDOS, inSlot({ metadata: VERDICT, ...over }))).toThrow(NoSuchHop);
  });
});
