import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromYaml, toYaml } from './chain-yaml.js';
import { removeNodes, renameNode, retitleNode } from './edit.js';
import { pathOf, pointerOf } from './pointer.js';
import { TEMPLATES } from './templates.js';
import { locate } from './yaml-text.js';

const e2 = TEMPLATES.find((each) => each.id === 'e2-figure-3-1')!.definition;

describe('YAML', () => {
  it('keeps the order of nodes and edges and writes keys in the order of the contract', () => {
    const text = toYaml(e2);
    const keys = text.split('\n').flatMap((line) => /^(\w+):/.exec(line)?.[1] ?? []);
    expect(keys).toEqual(['name', 'title', 'description', 'traffic_class', 'nodes', 'edges', 'slos', 'class_slos']);
    expect(text.indexOf('id: unsafe')).toBeLessThan(text.indexOf('id: safe-web'));
    expect(fromYaml(text)).toEqual({ ok: true, definition: e2 });
  });

  it('reads JSON too', () => {
    expect(fromYaml(JSON.stringify(e2))).toEqual({ ok: true, definition: e2 });
  });

  it('points at the line of a syntax error', () => {
    const result = fromYaml('name: a\ntitle: "open\nnodes: []\n');
    expect(result.ok).toBe(false);
    if (!result.ok) expect(result.problems[0]?.line).toBeGreaterThanOrEqual(2);
  });

  it('points at the line of a field that the contract refuses', () => {
    const text = toYaml(e2).replace('kind: egress', 'kind: sink');
    const result = fromYaml(text);
    expect(result.ok).toBe(false);
    if (result.ok) return;
    const line = text.split('\n').findIndex((each) => each.includes('kind: sink')) + 1;
    expect(result.problems[0]).toMatchObject({ line, pointer: '/nodes/5/kind' });
    expect(result.problems[0]?.message).toMatch(/^nodes\[5\]\.kind must be /);
  });

  it('names a field that is missing', () => {
    const result = fromYaml(toYaml(e2).replace(/^title:.*\n/m, ''));
    expect(!result.ok && result.problems[0]).toMatchObject({ line: 1, message: 'title must be given' });
  });

  it('points at an unknown field', () => {
    const text = `colour: red\n${toYaml(e2)}`;
    const result = fromYaml(text);
    expect(!result.ok && result.problems[0]).toMatchObject({ line: 1, pointer: '/colour' });
  });

  it('finds the line of a pointer', () => {
    const text = toYaml(e2);
    const line = text.split('\n').findIndex((each) => each.includes('id: safe-web')) + 1;
    expect(locate(text, '/edges/2/id').line).toBe(line);
    expect(locate(text, '/edges/2/nothing/here').line).toBe(line);
  });

  it('escapes pointers', () => {
    expect(pathOf(pointerOf(['a/b', 'c~d', 3]))).toEqual(['a/b', 'c~d', '3']);
  });
});

describe('comments of the YAML', () => {
  const read = (text: string) => {
    const result = fromYaml(text);
    if (!result.ok) throw new Error(result.problems[0]?.message);
    return result.definition;
  };
  const commented = () => {
    const lines = toYaml(e2).split('\n');
    const ids = lines.findIndex((line) => line.includes('id: ids'));
    lines.splice(ids, 0, '  # Sees every packet first.');
    lines.unshift('# Owner: the campus team.');
    return lines.join('\n').replace('kind: egress', 'kind: egress # to the server').concat('# End.\n');
  };

  it('stay when the chain changes on the canvas', () => {
    const text = toYaml(retitleNode(read(commented()), 'ids', 'Probe'));
    expect(text).toContain('title: Probe');
    for (const comment of ['# Owner: the campus team.', '# Sees every packet first.', '# to the server', '# End.'])
      expect(text).toContain(comment);
  });

  it('follow a node that is renamed and leave with one that is removed', () => {
    const definition = read(commented());
    expect(toYaml(renameNode(definition, 'ids', 'probe'))).toMatch(/# Sees every packet first\.\n {2}- id: probe/);
    const removed = removeNodes(definition, ['ids']);
    expect(JSON.stringify(removed.comments)).not.toContain('Sees every');
    expect(toYaml(removed)).toContain('# Owner: the campus team.');
  });

  it('are all kept wherever they stand, and a second reading changes nothing', () => {
    // A text of several lines would hold the comment as text.
    const short = { ...e2, description: 'Short.' };
    const plain = toYaml(short).trimEnd().split('\n');
    const insertion = fc.record({ line: fc.nat(plain.length - 1), above: fc.boolean() });
    fc.assert(
      fc.property(fc.array(insertion, { maxLength: 12 }), (insertions) => {
        const lines = plain.map((text) => ({ above: [] as string[], text }));
        insertions.forEach(({ line, above }, index) => {
          const at = lines[line]!;
          if (above)
            at.above.push(`${/^[ -]*/.exec(at.text)![0].replace('-', ' ').replace(/ {2}$/, '')}# note ${index}.`);
          else if (!at.text.includes('#')) at.text += ` # note ${index}.`;
          else at.above.push(`# note ${index}.`);
        });
        const once = toYaml(read(lines.flatMap(({ above, text }) => [...above, text]).join('\n')));
        for (const index of insertions.keys()) expect(once.split(`# note ${index}.`)).toHaveLength(2);
        expect(read(once)).toMatchObject(short);
        expect(toYaml(read(once))).toBe(once);
      }),
    );
  });
});
