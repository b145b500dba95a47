import type { ChainDefinition } from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkTogether } from '../check/check-together.js';
import { pathsOf } from '../check/paths.js';
import { validateChain } from '../check/validate.js';
import { makePlan } from '../plan/make-plan.js';
import { chainOf } from '../testing/chains.js';
import { CATALOGUE } from '../testing/descriptors.js';
import { rack } from '../testing/infrastructure.js';
import { packet } from '../testing/packets.js';
import { walkDefinition, walkPlan } from '../testing/walk.js';

const NFS = { a1: 'monitor', a2: 'monitor', b1: 'ids', b2: 'ids', c1: 'nat', d1: 'firewall' } as const;
const ORDER = Object.keys(NFS);
const HOSTS = ['client-1', 'client-2'];
const rack9 = rack({ servers: 4, cores: 2, ghz: 2 });

/** Ways over instances in order, and classes of one port and host each that take them. */
const cases = fc.record({
  ways: fc.array(fc.subarray(ORDER, { minLength: 1 }), { minLength: 1, maxLength: 6 }),
  classes: fc.uniqueArray(
    fc.record({ port: fc.integer({ min: 1, max: 9 }), host: fc.constantFrom(...HOSTS), way: fc.nat(5) }),
    { minLength: 1, maxLength: 12, selector: ({ port, host }) => `${port} ${host}` },
  ),
  packets: fc.array(fc.record({ port: fc.integer({ min: 0, max: 10 }), host: fc.constantFrom(...HOSTS) }), {
    minLength: 12,
    maxLength: 12,
  }),
});

function chainWithWays(
  ways: readonly string[][],
  classes: readonly { port: number; host: string; way: number }[],
): ChainDefinition {
  const on = (w: number) => [['in.way', 'is', `w${w + 1}`]] as [string, 'is', string][];
  const every = [...ways, ...ORDER.map((id) => [id])];
  const drawn = chainOf(
    NFS,
    every.flatMap((way, w) =>
      ['in', ...way, 'out']
        .slice(1)
        .map((to, k) => [['in', ...way][k]!, to, on(w)] as [string, string, ReturnType<typeof on>]),
    ),
    { from: HOSTS },
  );
  return {
    ...drawn,
    nodes: drawn.nodes.map((node) =>
      node.kind === 'ingress'
        ? {
            ...node,
            ways: every.map((_, w) => ({
              id: `w${w + 1}`,
              classes: classes.flatMap(({ port, host, way }) =>
                way % ways.length === w
                  ? [
                      {
                        id: `r-${host}-${port}`,
                        from: [host],
                        match: [{ attribute: 'port.dst', op: 'is' as const, value: port }],
                      },
                    ]
                  : [],
              ),
            })),
          }
        : node,
    ),
  };
}

const planOf = (definition: ChainDefinition) =>
  makePlan({
    id: 'plan',
    created_ms: 0,
    options: { strategy: 'random' as const },
    chains: [{ chain_id: 'p-1', version: 1, definition }],
    descriptors: CATALOGUE,
    infrastructure: rack9,
    base: null,
    budget: { steps: 50 },
  });

describe('ways at the ingress', () => {
  it('are taken by the packets of their classes and no other, whatever NFs write on the way', () => {
    const seen = { exit: 0, outside: 0, crossings: 0 };
    fc.assert(
      fc.property(cases, ({ ways, classes, packets }) => {
        const definition = chainWithWays(ways, classes);
        const context = { descriptors: CATALOGUE, hosts: rack9.hosts };
        expect(validateChain(definition, context).filter(({ severity }) => severity === 'error')).toEqual([]);
        const plan = planOf(definition);
        fc.pre(plan.feasible);
        for (const { port, host } of packets) {
          const start = packet({ 'ip.src': 0x0a000001, 'port.dst': port });
          const verdicts = () => 'safe';
          const meant = walkDefinition(definition, CATALOGUE, start, verdicts, host);
          const walk = walkPlan(plan, host, start, verdicts);
          if (walk.end === 'not classified') {
            expect(meant).toEqual([null]);
            seen.outside++;
            continue;
          }
          expect(walk.end).toBe('exit');
          expect(walk.passed.map(({ instance }) => instance.node_id)).toEqual(meant);
          seen.exit++;
          seen.crossings += walk.crossings;
        }
      }),
      { numRuns: 40, seed: 5 },
    );
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(20);
  });

  it('are the only paths of the chain', () => {
    fc.assert(
      fc.property(cases, ({ ways, classes }) => {
        const paths = pathsOf(chainWithWays(ways, classes))!;
        expect(paths.map(({ nodes }) => nodes.join())).toEqual(
          [...ways, ...ORDER.map((id) => [id])].map((way) => way.join()),
        );
      }),
      { numRuns: 100, seed: 6 },
    );
  });

  it('have classes that no other chain, and no other way, has', () => {
    const shared = chainWithWays(
      [['a1'], ['b1']],
      [
        { port: 1, host: 'client-1', way: 0 },
        { port: 2, host: 'client-1', way: 1 },
      ],
    );
    const other = (port: number, host: string) =>
      chainOf(
        { mon: 'monitor' },
        [
          ['in', 'mon'],
          ['mon', 'out'],
        ],
        {
          name: 'q',
          from: [host],
          match: [['port.dst', 'is', port]],
        },
      );
    const conflicts = (...definitions: ChainDefinition[]) =>
      checkTogether(
        definitions.map((definition, i) => ({ chain_id: `p-${i}`, version: 1, definition })),
        CATALOGUE,
      ).map(({ pointer }) => pointer);
    expect(conflicts(other(3, 'client-1'), shared)).toEqual([]);
    expect(conflicts(other(2, 'client-2'), shared)).toEqual([]);
    expect(conflicts(other(2, 'client-1'), shared)).toEqual(['/nodes/0/ways/1/classes/0']);
    const twice = chainWithWays(
      [['a1'], ['b1']],
      [
        { port: 1, host: 'client-1', way: 0 },
        { port: 1, host: 'client-1', way: 1 },
      ],
    );
    expect(conflicts(twice)).toEqual(['/nodes/0/ways/1/classes/0']);
  });

  it('are told by edges out of the ingress alone, with hosts of the chain and direct attributes', () => {
    const sound = chainWithWays([['a1']], [{ port: 1, host: 'client-1', way: 0 }]);
    const problems = (change: (definition: ChainDefinition) => void) => {
      const changed = structuredClone(sound);
      change(changed);
      return validateChain(changed, { descriptors: CATALOGUE, hosts: rack9.hosts })
        .filter(({ severity }) => severity === 'error')
        .map(({ pointer }) => pointer);
    };
    const waysOf = ({ nodes }: ChainDefinition) => (nodes[0]!.kind === 'ingress' ? nodes[0]!.ways! : []);
    expect(problems(() => undefined)).toEqual([]);
    expect(problems((it) => (it.edges[0]!.filter = []))).toContain('/edges/0/filter');
    expect(problems((it) => (waysOf(it)[0]!.classes[0]!.from = ['server-1']))).toEqual([
      '/nodes/0/ways/0/classes/0/from/0',
    ]);
    expect(problems((it) => (waysOf(it)[0]!.classes[0]!.match[0]!.attribute = 'b1.verdict'))).toEqual([
      '/nodes/0/ways/0/classes/0/match/0/attribute',
    ]);
    expect(problems((it) => (waysOf(it)[1]!.id = 'w1'))).toContain('/nodes/0/ways/1/id');
  });
});
