import type { ChainDefinition } from '@orrery/contract';
import { ChainDefinition as Definition } from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { arbitraryChain, everyPacket, representatives } from '../testing/arbitrary.js';
import { CATALOGUE } from '../testing/descriptors.js';
import { matchesTerm, type Packet, packet } from '../testing/packets.js';
import { validateChain } from './validate.js';

const context = { descriptors: CATALOGUE, hosts: [{ id: 'client-1' }] };

interface Findings {
  readonly ambiguous: Set<string>;
  readonly uncovered: Set<string>;
  readonly neverTaken: Set<string>;
}

/** Sends every distinguishable packet through the DAG, with every verdict and every rewriting that an NF may choose. */
function bruteForce({ nodes, edges }: ChainDefinition): Findings {
  const found: Findings = { ambiguous: new Set(), uncovered: new Set(), neverTaken: new Set() };
  const arriving = new Map<string, Map<string, Packet>>([
    ['in', new Map(everyPacket().map((it) => [JSON.stringify(it), it]))],
  ]);
  for (const node of nodes) {
    let packets = [...(arriving.get(node.id)?.values() ?? [])];
    const nf = node.kind === 'nf' ? CATALOGUE.find(({ id }) => id === node.nf)! : null;
    for (const field of nf?.actions.writes ?? []) {
      packets = packets.flatMap((it) =>
        field.startsWith('port') && it['port.dst'] === null
          ? [it]
          : representatives(field).map((value) => packet({ ...it, [field]: value })),
      );
    }
    for (const { name, values } of nf?.attributes ?? []) {
      packets = packets.flatMap((it) =>
        values.map(({ value }) => ({ ...it, derived: { ...it.derived, [`${node.id}.${name}`]: value } })),
      );
    }
    const own = edges.filter(({ from }) => from === node.id);
    const taken = new Set<string>();
    for (const it of packets) {
      const matching = own.filter(({ filter }) => filter.every((term) => matchesTerm(it, term)));
      for (const edge of matching) {
        taken.add(edge.id);
        const next = arriving.get(edge.to) ?? new Map<string, Packet>();
        arriving.set(edge.to, next.set(JSON.stringify(it), it));
      }
      if (matching.length === 0 && own.length > 0) found.uncovered.add(node.id);
      matching.forEach((b, k) => {
        for (const a of matching.slice(0, k)) found.ambiguous.add(`${a.id} ${b.id}`);
      });
    }
    if (packets.length > 0) for (const { id } of own) if (!taken.has(id)) found.neverTaken.add(id);
  }
  return found;
}

describe('validateChain, beside sending every kind of packet through the chain', () => {
  const chains = arbitraryChain({ nfs: ['ids', 'monitor', 'nat'], maxNodes: 3, exact: false });

  it('finds exactly the ambiguous edges, the uncovered nodes and the edges that are never taken', () => {
    let seen = 0;
    fc.assert(
      fc.property(chains, (definition) => {
        const problems = validateChain(definition, context);
        fc.pre(!problems.some(({ code, severity }) => code === 'bad-filter' && severity === 'error'));
        const oracle = bruteForce(definition);
        const ambiguous = problems.flatMap(({ code, edge, message }) =>
          code === 'ambiguous-edges' ? [`${/both "([^"]+)"/.exec(message)![1]} ${edge}`] : [],
        );
        const uncovered = problems.flatMap(({ code, node }) => (code === 'uncovered-traffic' ? [node] : []));
        const never = problems.flatMap(({ code, edge }) => (code === 'bad-filter' ? [edge] : []));
        expect(new Set(ambiguous)).toEqual(oracle.ambiguous);
        expect(new Set(uncovered)).toEqual(oracle.uncovered);
        expect(new Set(never)).toEqual(oracle.neverTaken);
        seen += oracle.ambiguous.size + oracle.uncovered.size + oracle.neverTaken.size;
      }),
      { numRuns: 150 },
    );
    expect(seen).toBeGreaterThan(150);
  });

  it('finds nothing wrong where filters divide the traffic', () => {
    fc.assert(
      fc.property(arbitraryChain({ nfs: ['ids', 'monitor'], maxNodes: 5, exact: true }), (definition) => {
        const problems = validateChain(definition, context);
        const codes = new Set(problems.map(({ code }) => code));
        expect(codes.has('ambiguous-edges')).toBe(false);
        expect(codes.has('uncovered-traffic')).toBe(false);
      }),
      { numRuns: 300 },
    );
  });
});

describe('validateChain, on definitions of any shape', () => {
  const id = fc.constantFrom('a', 'b', 'c', 'd', 'ip');
  const attribute = fc.constantFrom('ip.src', 'ip.proto', 'port.dst', 'a.verdict', 'b.nothing', 'ip.verdict', 'x.y');
  const value = fc.oneof(
    fc.constantFrom('10.0.0.0/8', '1.2.3.4/33', 'tcp', '80', '90-80', 'safe', '-', '80-', '65536', ' '),
    fc.double(),
    fc.string({ minLength: 1, maxLength: 8 }),
  );
  const anyDefinition = fc
    .record({
      nodes: fc.array(
        fc.oneof(
          fc.record({ id, kind: fc.constantFrom('ingress', 'egress') }),
          fc.record({
            id,
            kind: fc.constant('nf'),
            nf: fc.constantFrom('ids', 'nat', 'firewall', 'nothing'),
            config: fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 2 }),
          }),
        ),
        { maxLength: 8 },
      ),
      edges: fc.array(
        fc.record({
          id,
          from: id,
          to: id,
          filter: fc.array(fc.record({ attribute, op: fc.constantFrom('is', 'is-not'), value }), { maxLength: 3 }),
        }),
        { maxLength: 10 },
      ),
      match: fc.array(fc.record({ attribute, op: fc.constantFrom('is', 'is-not'), value }), { maxLength: 3 }),
    })
    .map(({ nodes, edges, match }) =>
      Definition.safeParse({ name: 'x', title: 'x', traffic_class: { from: ['h'], match }, nodes, edges }),
    )
    .filter(({ success }) => success)
    .map(({ data }) => data!);

  it('never throws, and every pointer leads into the definition', () => {
    fc.assert(
      fc.property(anyDefinition, (definition) => {
        for (const { pointer, code } of validateChain(definition, context)) {
          if (code === 'bad-config') continue;
          const target = pointer
            .split('/')
            .slice(1)
            .reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], definition);
          expect(target).toBeDefined();
        }
      }),
      { numRuns: 1000 },
    );
  });
});
