import type { LentAccelerator, NfDescriptor, PlannedChain } from '@orrery/contract';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Lender, SSM, vnf } from '../testing/lending.js';
import { type Candidate, isEligible, type OfferedBoard } from './eligible.js';

const SERVERS = ['server-1', 'server-2'];
const ACCELERATORS: readonly LentAccelerator[] = [
  ...SERVERS.map((server) => ({ kind: 'instructions' as const, server })),
  ...['board-1', 'board-2'].map((board) => ({ kind: 'slot' as const, board, slot: 0 })),
];
const nameOf = (it: LentAccelerator) => (it.kind === 'slot' ? it.board : it.server);

const described = (id: string, lut: number | null): NfDescriptor =>
  ({
    id,
    title: id,
    return_traffic: false,
    attributes: [],
    implementations: lut === null ? [] : [{ kind: 'board', resources: { lut } }],
  }) as unknown as NfDescriptor;

/** The NF, with or without another one behind it. */
const chainOf = (isLast: boolean): PlannedChain => {
  const nf = (id: string) => ({ id, kind: 'nf', nf: id });
  const nodes = [{ id: 'in', kind: 'ingress' }, nf('nf'), nf('next'), { id: 'out', kind: 'egress' }];
  const edge = (id: string, from: string, to: string) => ({ id, from, to, filter: [] });
  const ways = isLast
    ? [
        ['in', 'nf'],
        ['nf', 'out'],
      ]
    : [
        ['in', 'nf'],
        ['nf', 'next'],
        ['next', 'out'],
      ];
  return { definition: { nodes, edges: ways.map(([a, b], n) => edge(`e${n}`, a!, b!)) } } as unknown as PlannedChain;
};

const board = (id: string) =>
  fc.record<OfferedBoard>({
    id: fc.constant(id),
    slots: fc.integer({ min: 1, max: 2 }),
    resources: fc.constantFrom({ lut: 100 }, { lut: 1000 }),
    attached: fc.constantFrom('server', 'switch'),
    modules: fc.constantFrom(null, ['tunnel'], ['other']),
  });
const candidate = fc.record({
  server: fc.constantFrom(...SERVERS),
  lut: fc.constantFrom(null, 500),
  isLast: fc.boolean(),
  instances: fc.constantFrom(1, 1, 1, 2),
  kinds: fc.constantFrom<string[]>([], ['instructions']),
});

it('instructions serve VNFs of their server, a slot those alone in their NF that its board can run; nobody has two', () => {
  const seen = { yes: 0, no: 0 };
  const usages = fc.array(fc.array(fc.constantFrom(0.2, 0.7, 0.9), { minLength: 4, maxLength: 4 }), { minLength: 20 });
  const four = fc.array(candidate, { minLength: 4, maxLength: 4 });
  fc.assert(
    fc.property(four, fc.tuple(board('board-1'), board('board-2')), usages, (candidates, boards, loads) => {
      const can = candidates.map(({ lut, isLast, server, instances, kinds }) => {
        const asked: Candidate = {
          server,
          node_id: 'nf',
          chain: chainOf(isLast),
          descriptor: described('tunnel', lut),
          instances,
          kinds,
        };
        return ACCELERATORS.filter((it) => {
          const is = isEligible(asked, it, boards);
          const at = boards.find(({ id }) => id === nameOf(it));
          const runs = at && lut !== null && instances === 1 && at.resources.lut! >= lut;
          const takes = at?.modules?.includes('other') !== true && (at?.attached === 'server' || !isLast);
          expect(is).toBe(at ? Boolean(runs && takes) : kinds.length > 0 && server === nameOf(it));
          seen[is ? 'yes' : 'no']++;
          return is;
        }).map(nameOf);
      });
      const lender = new Lender(
        SSM,
        ACCELERATORS.map((it) => ({ id: nameOf(it), works: true })),
      );
      loads.forEach((usage, n) => {
        // Throws where an accelerator has two holders, or a VNF two accelerators.
        lender.tick(
          3000 * n,
          can.map((names, i) => vnf(`vnf${i}`, usage[i]!, names)),
        );
        for (const loan of lender.state.loans) expect(can[Number(loan.vnf.slice(3))]).toContain(loan.accelerator);
      });
    }),
    { numRuns: 200, seed: 66 },
  );
  expect(Math.min(seen.yes, seen.no)).toBeGreaterThan(200);
});
