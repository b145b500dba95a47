import { describe, expect, it } from 'vitest';
import { attributesAt, filterLabel, valueProblem } from './attributes.js';
import { canConnect, connect, connectEither } from './connect.js';
import {
  addPart,
  applyLayout,
  canRename,
  freeSpot,
  insertOnEdge,
  removeNodes,
  renameNode,
  setFilter,
  withPositions,
} from './edit.js';
import { extendSelection, parseSelection, selectionText } from './graph.js';
import { chain, IDS, MONITOR } from './testing.js';

const monitor = { kind: 'nf', descriptor: MONITOR } as const;
const ids = { kind: 'nf', descriptor: IDS } as const;

function refusal(verdict: { ok: true } | { ok: false; reason: string }): string {
  expect(verdict.ok).toBe(false);
  return verdict.ok ? '' : verdict.reason;
}

describe('addPart', () => {
  it('gives fresh ids and free places', () => {
    const first = addPart(chain('ingress>egress'), monitor);
    if (!first.ok) throw new Error(first.reason);
    const second = addPart(first.definition, monitor);
    if (!second.ok) throw new Error(second.reason);
    expect([first.node, second.node]).toEqual(['monitor', 'monitor-2']);
    const [one, two] = second.definition.nodes.slice(-2);
    expect(one?.position).not.toEqual(two?.position);
  });

  it('refuses a second ingress', () => {
    expect(refusal(addPart(chain('ingress>egress'), { kind: 'ingress' }))).toMatch(/already has its ingress/);
  });
});

describe('canConnect', () => {
  const line = chain('ingress>a', 'a>b', 'b>egress');

  it('refuses with a reason that the operator can act on', () => {
    expect(refusal(canConnect(line, 'a', 'a'))).toMatch(/feed itself/);
    expect(refusal(canConnect(line, 'b', 'a'))).toMatch(/loop/);
    expect(refusal(canConnect(line, 'egress', 'a'))).toMatch(/ends at the egress/);
    expect(refusal(canConnect(line, 'a', 'ingress'))).toMatch(/begins at the ingress/);
    expect(refusal(canConnect(line, 'a', 'b'))).toMatch(/already sends everything/);
    expect(refusal(canConnect(line, 'a', 'gone'))).toMatch(/no longer/);
  });

  it('allows a second edge beside a filtered one', () => {
    const filtered = setFilter(line, 'e2', [{ attribute: 'ip.proto', op: 'is', value: 'tcp' }]);
    expect(canConnect(filtered, 'a', 'b')).toEqual({ ok: true });
  });

  it('connects two selected nodes in whichever order is legal', () => {
    const result = connectEither(chain('ingress>a', 'b>egress', 'a>c'), 'b', 'c');
    expect(result.ok && result.definition.edges.at(-1)).toMatchObject({ from: 'b', to: 'c' });
    const reversed = connectEither(chain('ingress>a', 'b>egress'), 'b', 'ingress');
    expect(reversed.ok && reversed.definition.edges.at(-1)).toMatchObject({ from: 'ingress', to: 'b' });
  });
});

describe('insertOnEdge', () => {
  it('keeps the filter before the new node and matches everything behind it', () => {
    const filter = [{ attribute: 'ip.proto', op: 'is', value: 'tcp' }] as const;
    const line = setFilter(chain('ingress>a', 'a>egress'), 'e2', [...filter]);
    const result = insertOnEdge(line, 'e2', ids);
    if (!result.ok) throw new Error(result.reason);
    expect(result.definition.edges).toEqual([
      { id: 'e1', from: 'ingress', to: 'a', filter: [] },
      { id: 'e2', from: 'a', to: 'ids', filter },
      { id: 'e3', from: 'ids', to: 'egress', filter: [] },
    ]);
  });
});

describe('insertOnEdge on the canvas', () => {
  it('makes room between close nodes and moves what follows', () => {
    const result = insertOnEdge(chain('ingress>a', 'a>egress', 'ingress>b', 'b>egress'), 'e1', ids);
    if (!result.ok) throw new Error(result.reason);
    const x = Object.fromEntries(result.definition.nodes.map((node) => [node.id, node.position!.x]));
    expect(x.ids! - x.ingress!).toBeGreaterThanOrEqual(128 + 40);
    expect(x.a! - x.ids!).toBeGreaterThanOrEqual(208 + 40);
    expect(x.egress! - x.a!).toBe(280);
    expect(x.b).toBe(840);
  });

  it('stands in the middle where there is room', () => {
    const wide = applyLayout(chain('ingress>egress'), new Map([['egress', { x: 800, y: 0 }]]));
    const result = insertOnEdge(wide, 'e1', ids);
    expect(result.ok && result.definition.nodes.map((node) => node.position!.x)).toEqual([0, 800, 360]);
  });

  it('finds a free spot below what stands there', () => {
    expect(freeSpot(chain('ingress>a'), { x: 280, y: 0 }).y).toBeGreaterThanOrEqual(76 + 16);
  });
});

describe('removeNodes', () => {
  it('takes the edges of a node away with it', () => {
    expect(removeNodes(chain('ingress>a', 'a>egress'), ['a']).edges).toEqual([]);
  });

  it('reconnects around the node without the attributes that it derived', () => {
    let definition = chain('ingress>ids', 'ids>a', 'a>egress');
    definition = setFilter(definition, 'e2', [
      { attribute: 'ids.verdict', op: 'is', value: 'safe' },
      { attribute: 'ip.proto', op: 'is', value: 'tcp' },
    ]);
    const result = removeNodes(definition, ['ids'], { reconnect: true });
    expect(result.edges.find((edge) => edge.from === 'ingress')).toMatchObject({
      to: 'a',
      filter: [{ attribute: 'ip.proto', value: 'tcp' }],
    });
  });

  it('removes neighbours one after the other', () => {
    const result = removeNodes(chain('ingress>a', 'a>b', 'b>egress'), ['a', 'b'], { reconnect: true });
    expect(result.edges.map(({ from, to }) => [from, to])).toEqual([['ingress', 'egress']]);
  });
});

describe('renameNode', () => {
  it('follows the node through edges and filters', () => {
    const definition = setFilter(chain('ingress>ids', 'ids>egress'), 'e2', [
      { attribute: 'ids.verdict', op: 'is', value: 'safe' },
    ]);
    const renamed = renameNode(definition, 'ids', 'guard');
    expect(renamed.edges).toMatchObject([{ to: 'guard' }, { from: 'guard', filter: [{ attribute: 'guard.verdict' }] }]);
    expect(renameNode(renamed, 'guard', 'ids')).toEqual(definition);
  });

  it('refuses invalid, taken and reserved ids', () => {
    const definition = chain('ingress>a', 'a>egress');
    expect(refusal(canRename(definition, 'a', 'A b'))).toMatch(/must start with a letter/);
    expect(refusal(canRename(definition, 'a', 'egress'))).toMatch(/called egress/);
    expect(refusal(canRename(definition, 'a', 'ip'))).toMatch(/packet/);
    expect(renameNode(definition, 'a', 'egress')).toBe(definition);
  });
});

describe('attributes', () => {
  const definition = chain('ingress>ids', 'ids>a', 'a>egress');
  const withIds = {
    ...definition,
    nodes: definition.nodes.map((node) =>
      node.id === 'ids' ? { ...node, nf: 'ids' } : node,
    ) as typeof definition.nodes,
  };

  it('offers what the node and everything before it derive, then the fields of the packet', () => {
    expect(attributesAt(withIds, 'ingress', [IDS, MONITOR]).map((each) => each.name)).toEqual([
      'ip.src',
      'ip.dst',
      'ip.proto',
      'port.src',
      'port.dst',
    ]);
    const [first] = attributesAt(withIds, 'a', [IDS, MONITOR]);
    expect(first).toMatchObject({ name: 'ids.verdict', values: [{ value: 'safe' }, { value: 'unsafe' }] });
  });

  it('tells a bad value', () => {
    const attribute = (name: string) => attributesAt(withIds, 'ids', [IDS]).find((each) => each.name === name)!;
    expect(valueProblem(attribute('port.dst'), '9000-80')).toMatch(/lower port first/);
    expect(valueProblem(attribute('port.dst'), '80-90')).toBeNull();
    expect(valueProblem(attribute('ip.dst'), '10.0.0.300/8')).toMatch(/prefix/);
    expect(valueProblem(attribute('ip.proto'), '256')).toMatch(/255/);
    expect(valueProblem(attribute('ids.verdict'), 'maybe')).toMatch(/safe, unsafe/);
  });

  it('labels an edge in few words', () => {
    expect(
      filterLabel([
        { attribute: 'ids.verdict', op: 'is', value: 'safe' },
        { attribute: 'ip.proto', op: 'is', value: 'tcp' },
        { attribute: 'port.dst', op: 'is-not', value: 80 },
      ]),
    ).toBe('safe · TCP · not port 80');
  });
});

describe('layout and selection', () => {
  it('places nodes without position by their distance from the start', () => {
    const bare = chain('ingress>a', 'ingress>b', 'a>egress', 'b>egress');
    const placed = withPositions({ ...bare, nodes: bare.nodes.map(({ position: _, ...node }) => node) });
    const at = Object.fromEntries(placed.nodes.map((node) => [node.id, node.position!]));
    expect(at.a!.x).toBe(at.b!.x);
    expect(at.a!.y).not.toBe(at.b!.y);
    expect(at.egress!.x).toBeGreaterThan(at.a!.x);
  });

  it('snaps a layout and leaves other nodes alone', () => {
    const moved = applyLayout(chain('ingress>egress'), new Map([['egress', { x: 101, y: 3 }]]));
    expect(moved.nodes.map((node) => node.position)).toEqual([
      { x: 0, y: 0 },
      { x: 104, y: 0 },
    ]);
  });

  it('extends a selection along the chain', () => {
    const definition = chain('ingress>a', 'a>b', 'b>egress', 'a>c');
    expect(extendSelection(definition, { nodes: ['a'], edges: [] }, 'downstream')).toEqual({
      nodes: ['a', 'b', 'egress', 'c'],
      edges: ['e2', 'e3', 'e4'],
    });
  });

  it('writes a selection for an address and reads it back', () => {
    const selection = { nodes: ['ids', 'a'], edges: ['e2'] };
    expect(selectionText(selection)).toBe('node:ids,node:a,edge:e2');
    expect(parseSelection(selectionText(selection))).toEqual(selection);
    expect(parseSelection('')).toBeNull();
  });

  it('adds an edge that matches everything', () => {
    const result = connect(chain('ingress>a', 'b>egress'), 'a', 'b');
    expect(result.ok && result.definition.edges.at(-1)).toEqual({ id: 'e3', from: 'a', to: 'b', filter: [] });
  });
});
