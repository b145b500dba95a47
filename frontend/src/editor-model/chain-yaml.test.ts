import { describe, expect, it } from 'vitest';
import { fromYaml, locate, pathOf, pointerOf, toYaml } from './chain-yaml.js';
import { TEMPLATES } from './templates.js';

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
