import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { connect } from './connect.js';
import { addPart, applyLayout, removeNodes, retitleNode, setDetails, setFilter, updateConfig } from './edit.js';
import { mergeDefinitions, overlapText } from './merge.js';
import { chain, MONITOR } from './testing.js';

const base = chain('ingress>a', 'a>b', 'b>egress');
const tcp = [{ attribute: 'ip.proto', op: 'is', value: 'tcp' } as const];

describe('mergeDefinitions', () => {
  it('joins changes of different things and of different fields of one thing', () => {
    const mine = setFilter(updateConfig(base, 'a', { x: 1 }), 'e2', tcp);
    const theirs = setDetails(applyLayout(retitleNode(base, 'a', 'Guard'), new Map([['a', { x: 8, y: 8 }]])), {
      description: 'theirs',
    });
    const { definition, overlaps } = mergeDefinitions(base, mine, theirs);
    expect(overlaps).toEqual([]);
    expect(definition.nodes[1]).toMatchObject({ title: 'Guard', config: { x: 1 }, position: { x: 8, y: 8 } });
    expect(definition).toMatchObject({ description: 'theirs', edges: [{}, { filter: tcp }, {}] });
  });

  it('keeps mine where both changed the same, and says where', () => {
    const merged = mergeDefinitions(base, retitleNode(base, 'a', 'Mine'), retitleNode(base, 'a', 'Theirs'));
    expect(merged.definition.nodes[1]).toMatchObject({ title: 'Mine' });
    expect(merged.overlaps).toEqual([{ pointer: '/nodes/a/title', mine: 'Mine', theirs: 'Theirs' }]);
    expect(merged.overlaps.map(overlapText)).toEqual(['nodes / a / title: "Mine" instead of "Theirs"']);
  });

  it('drops an edge to a node that the other side deleted', () => {
    const added = addPart(base, { kind: 'nf', descriptor: MONITOR });
    if (!added.ok) throw new Error(added.reason);
    const mine = connect(added.definition, 'b', added.node);
    if (!mine.ok) throw new Error(mine.reason);
    const { definition } = mergeDefinitions(base, mine.definition, removeNodes(base, ['b']));
    expect(definition.nodes.map((node) => node.id)).toEqual(['ingress', 'a', 'egress', 'monitor']);
    expect(definition.edges.map((edge) => edge.id)).toEqual(['e1']);
  });

  it('takes a side as it is when the other changed nothing', () => {
    const edit = fc.constantFrom(
      retitleNode(base, 'b', 'B'),
      removeNodes(base, ['a'], { reconnect: true }),
      setFilter(base, 'e3', tcp),
    );
    fc.assert(
      fc.property(edit, (changed) => {
        expect(mergeDefinitions(base, changed, base)).toEqual({ definition: changed, overlaps: [] });
        expect(mergeDefinitions(base, base, changed)).toEqual({ definition: changed, overlaps: [] });
        expect(mergeDefinitions(base, changed, changed)).toEqual({ definition: changed, overlaps: [] });
      }),
    );
  });
});
