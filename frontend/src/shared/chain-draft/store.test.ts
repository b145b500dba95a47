import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toYaml } from '../../editor-model/chain-yaml.js';
import { connect } from '../../editor-model/connect.js';
import { addPart, applyLayout, removeNodes, retitleNode } from '../../editor-model/edit.js';
import { chain, MONITOR } from '../../editor-model/testing.js';
import { createEditorStore } from './store.js';

const start = chain('ingress>monitor', 'monitor>egress');

describe('undo', () => {
  it('joins the keystrokes of one field into one step', () => {
    let time = 0;
    const store = createEditorStore(start, () => time);
    for (const title of ['G', 'Gu', 'Guard']) {
      time += 200;
      store.apply((definition) => retitleNode(definition, 'monitor', title), 'title:monitor');
    }
    time += 2000;
    store.apply((definition) => retitleNode(definition, 'monitor', 'Guards'), 'title:monitor');
    store.undo();
    expect(store.getState().definition.nodes[1]).toMatchObject({ title: 'Guard' });
    store.undo();
    expect(store.getState().definition).toBe(start);
    store.undo();
    expect(store.getState().definition).toBe(start);
  });

  it('keeps fields apart even when they change at once', () => {
    const store = createEditorStore(start, () => 0);
    store.apply((definition) => retitleNode(definition, 'monitor', 'A'), 'title:monitor');
    store.apply((definition) => retitleNode(definition, 'ingress', 'B'), 'title:ingress');
    store.undo();
    expect(store.getState().definition.nodes[1]).toMatchObject({ title: 'A' });
  });

  it('does not count selections', () => {
    const store = createEditorStore(start);
    store.select({ nodes: ['monitor'] });
    expect(store.temporal.getState().pastStates).toHaveLength(0);
    store.apply((definition) => removeNodes(definition, ['monitor']));
    expect(store.getState().selection.nodes).toEqual([]);
  });

  it('returns to identical definitions, however far', () => {
    const edit = fc.constantFrom('add', 'connect', 'remove', 'move', 'title');
    fc.assert(
      fc.property(fc.array(fc.tuple(edit, fc.nat(20)), { maxLength: 50 }), (edits) => {
        const store = createEditorStore(start, () => 0);
        const texts: string[] = [];
        for (const [kind, seed] of edits) {
          const before = store.getState().definition;
          const node = before.nodes[seed % before.nodes.length]?.id ?? '';
          const other = before.nodes[(seed * 7 + 1) % before.nodes.length]?.id ?? '';
          store.apply((definition) => {
            if (kind === 'remove') return removeNodes(definition, [node], { reconnect: true });
            if (kind === 'move') return applyLayout(definition, new Map([[node, { x: seed * 16, y: 8 }]]));
            if (kind === 'title') return retitleNode(definition, node, `T${seed}`);
            const result =
              kind === 'add'
                ? addPart(definition, { kind: 'nf', descriptor: MONITOR })
                : connect(definition, node, other);
            return result.ok ? result.definition : definition;
          });
          if (store.getState().definition !== before) texts.push(toYaml(before));
        }
        const end = toYaml(store.getState().definition);
        for (const text of texts.reverse()) {
          store.undo();
          expect(toYaml(store.getState().definition)).toBe(text);
        }
        for (const _ of texts) store.redo();
        expect(toYaml(store.getState().definition)).toBe(end);
      }),
      { numRuns: 50 },
    );
  });
});
