import { ChainDefinition } from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromYaml, toYaml } from './chain-yaml.js';
import { copy, fragmentFromYaml, fragmentToYaml, paste } from './clipboard.js';
import { canConnect, connect } from './connect.js';
import { diffDefinitions } from './diff.js';
import { addPart, insertOnEdge, removeEdges, removeNodes, renameNode, setFilter } from './edit.js';
import { downstreamOf } from './graph.js';
import { chain, IDS, MONITOR } from './testing.js';

type Step = (definition: ChainDefinition) => ChainDefinition;
const pick = <Item>(items: readonly Item[], at: number): Item | undefined => items[at % Math.max(1, items.length)];
const kept = (before: ChainDefinition, result: { ok: true; definition: ChainDefinition } | { ok: false }) =>
  result.ok ? result.definition : before;

const at = fc.nat(50);
const part = fc.constantFrom({ kind: 'nf', descriptor: IDS } as const, { kind: 'nf', descriptor: MONITOR } as const);
const step: fc.Arbitrary<Step> = fc.oneof(
  part.map(
    (each): Step =>
      (before) =>
        kept(before, addPart(before, each)),
  ),
  fc.tuple(at, at).map(
    ([a, b]): Step =>
      (before) =>
        kept(before, connect(before, pick(before.nodes, a)?.id ?? '', pick(before.nodes, b)?.id ?? '')),
  ),
  fc.tuple(at, part).map(
    ([a, each]): Step =>
      (before) =>
        kept(before, insertOnEdge(before, pick(before.edges, a)?.id ?? '', each)),
  ),
  fc.tuple(at, fc.boolean()).map(
    ([a, reconnect]): Step =>
      (before) =>
        removeNodes(before, [pick(before.nodes, a)?.id ?? ''], { reconnect }),
  ),
  at.map(
    (a): Step =>
      (before) =>
        removeEdges(before, [pick(before.edges, a)?.id ?? '']),
  ),
  fc.tuple(at, fc.constantFrom('guard', 'x', 'ids')).map(
    ([a, name]): Step =>
      (before) =>
        renameNode(before, pick(before.nodes, a)?.id ?? '', name),
  ),
  fc.tuple(at, at).map(
    ([a, b]): Step =>
      (before) =>
        setFilter(before, pick(before.edges, a)?.id ?? '', [
          { attribute: `${pick(before.nodes, b)?.id ?? 'ip'}.verdict`, op: 'is', value: 'safe' },
        ]),
  ),
  fc.array(at, { minLength: 1, maxLength: 4 }).map(
    (picks): Step =>
      (before) =>
        kept(before, paste(before, copy(before, { nodes: picks.map((a) => pick(before.nodes, a)?.id ?? '') }))),
  ),
);
const edited = fc
  .array(step, { maxLength: 25 })
  .map((steps) => steps.reduce((definition, each) => each(definition), chain('ingress>monitor', 'monitor>egress')));

function hasCycle(definition: ChainDefinition): boolean {
  return definition.nodes.some((node) => downstreamOf(definition, [node.id]).has(node.id));
}

describe('any sequence of edits', () => {
  it('leaves a definition that the contract accepts, without a cycle, a doubled id or a loose edge', () => {
    fc.assert(
      fc.property(edited, (definition) => {
        expect(ChainDefinition.safeParse(definition).error).toBeUndefined();
        expect(hasCycle(definition)).toBe(false);
        const nodes = definition.nodes.map((node) => node.id);
        expect(new Set(nodes).size).toBe(nodes.length);
        const edges = definition.edges.map((edge) => edge.id);
        expect(new Set(edges).size).toBe(edges.length);
        for (const edge of definition.edges) expect(nodes).toEqual(expect.arrayContaining([edge.from, edge.to]));
      }),
    );
  });

  it('never changes the definition that it is given', () => {
    fc.assert(
      fc.property(edited, step, (definition, each) => {
        const before = JSON.stringify(definition);
        each(definition);
        expect(JSON.stringify(definition)).toBe(before);
      }),
    );
  });

  it('survives the way through YAML unchanged', () => {
    fc.assert(
      fc.property(edited, (definition) => {
        expect(fromYaml(toYaml(definition))).toEqual({ ok: true, definition });
      }),
    );
  });
});

describe('canConnect', () => {
  it('allows exactly the edges that close no cycle and double none', () => {
    fc.assert(
      fc.property(edited, at, at, (definition, a, b) => {
        const from = pick(definition.nodes, a);
        const to = pick(definition.nodes, b);
        if (!from || !to) return;
        const drawn = {
          ...definition,
          edges: [...definition.edges, { id: 'new', from: from.id, to: to.id, filter: [] }],
        };
        const doubled = definition.edges.some(
          (edge) => edge.from === from.id && edge.to === to.id && edge.filter.length === 0,
        );
        const ends = from.kind === 'egress' || to.kind === 'ingress';
        expect(canConnect(definition, from.id, to.id).ok).toBe(!hasCycle(drawn) && !doubled && !ends);
      }),
    );
  });
});

describe('paste', () => {
  it('keeps every old node and edge and adds a disjoint copy of the same shape', () => {
    fc.assert(
      fc.property(edited, edited, fc.array(at, { minLength: 1 }), (target, source, picks) => {
        const fragment = copy(source, { nodes: picks.map((a) => pick(source.nodes, a)?.id ?? '') });
        const result = paste(target, fragment);
        if (!result.ok) return;
        expect(result.definition.nodes.slice(0, target.nodes.length)).toEqual(target.nodes);
        expect(result.definition.edges.slice(0, target.edges.length)).toEqual(target.edges);
        const ids = result.definition.nodes.map((node) => node.id);
        expect(new Set(ids).size).toBe(ids.length);
        const added = result.definition.edges.slice(target.edges.length);
        for (const edge of added) expect(result.selection.nodes).toEqual(expect.arrayContaining([edge.from, edge.to]));
      }),
    );
  });

  it('lets filters inside the fragment follow their nodes', () => {
    const definition = setFilter(chain('ingress>ids', 'ids>monitor', 'monitor>egress'), 'e3', [
      { attribute: 'ids.verdict', op: 'is', value: 'safe' },
    ]);
    const whole = paste(definition, copy(definition, { nodes: ['ids', 'monitor', 'egress'] }));
    expect(whole.ok && whole.definition.edges.slice(3)).toEqual([
      { id: 'e4', from: 'ids-2', to: 'monitor-2', filter: [] },
    ]);
    const other = paste(chain('ingress>ids'), copy(definition, { nodes: ['ids', 'monitor', 'egress'] }));
    expect(other.ok && other.definition.edges.at(-1)).toMatchObject({
      from: 'monitor',
      to: 'egress',
      filter: [{ attribute: 'ids-2.verdict' }],
    });
  });

  it('takes what it copied from text', () => {
    fc.assert(
      fc.property(edited, (definition) => {
        const fragment = copy(definition, { nodes: definition.nodes.map((node) => node.id) });
        if (fragment.nodes.length > 0) expect(fragmentFromYaml(fragmentToYaml(fragment))).toEqual(fragment);
      }),
    );
  });
});

describe('diffDefinitions', () => {
  it('is empty exactly for definitions that differ in positions at most', () => {
    fc.assert(
      fc.property(edited, edited, (a, b) => {
        expect(diffDefinitions(a, a)).toEqual([]);
        const bare = (definition: ChainDefinition) => ({
          ...definition,
          nodes: definition.nodes.map(({ position: _, ...node }) => node).sort((x, y) => x.id.localeCompare(y.id)),
          edges: [...definition.edges].sort((x, y) => x.id.localeCompare(y.id)),
        });
        const differ = diffDefinitions(a, b).length > 0;
        if (!differ) expect(bare(a)).toEqual(bare(b));
        const there = diffDefinitions(a, b).filter((each) => each.change === 'added').length;
        const back = diffDefinitions(b, a).filter((each) => each.change === 'removed').length;
        expect(there).toBe(back);
      }),
    );
  });
});
