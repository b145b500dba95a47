import type { FabricSpec, GraphEdge, GraphNode, Infrastructure, Plan } from '@orrery/contract';
import { sampleKey } from '@orrery/contract';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { CarriageMeter } from './carriage.js';
import { ChainJudge, type Judgement } from './chain-judge.js';
import { PacketMeter } from './packet-meter.js';
import { type CountingNode, labelOf, passedKey, refusedKey, sectionsOf, takenKey } from './sections.js';

const TICK_MS = 500;
const SLOT_MS = 200;
/** Counters have been read before. */
const START_MS = 2000;
const CUT_MS = 14_000;
const END_MS = 38_000;
const TIMEOUT_MS = 100;
const SLOTS = END_MS / SLOT_MS;
const REFUSED = 'denied';
const LEAST_LOSS = 0.1;

/** A chain as series and steps; leaves are NFs with the share of packets that they refuse. */
type Part =
  | { readonly kind: 'nf'; readonly refuses: number; readonly server: number }
  | { readonly kind: 'step'; readonly branches: readonly (readonly Part[])[]; readonly servers: readonly number[] };

const server = fc.integer({ min: 1, max: 4 });
const nf = fc.record({
  kind: fc.constant('nf' as const),
  refuses: fc.constantFrom(0, 0, 0, 0, 0.05, 0.2),
  server,
});
const { part } = fc.letrec<{ part: Part }>((tie) => ({
  part: fc.oneof(
    { depthSize: 'small', maxDepth: 2 },
    nf,
    fc.record({
      kind: fc.constant('step' as const),
      servers: fc.tuple(server, server),
      branches: fc
        .tuple(
          fc.array(tie('part'), { minLength: 1, maxLength: 2 }),
          fc.array(fc.array(tie('part'), { maxLength: 2 }), { minLength: 1, maxLength: 2 }),
        )
        .map(([first, others]) => [first, ...others]),
    }),
  ),
}));
const chain = fc.array(part, { minLength: 1, maxLength: 3 });

/** The instance graph of a chain as the planner makes it. */
function built(parts: readonly Part[]) {
  const nodes: GraphNode[] = [];
  const edges: GraphEdge[] = [];
  const refuses = new Map<string, number>();
  let count = 0;
  const edge = (from: string | null, to: string, more: Partial<GraphEdge> = {}) =>
    edges.push({ id: `e${edges.length}`, chain_id: 'c', direction: 'forward', from, to, ...more } as GraphEdge);
  type End = { readonly from: string | null; readonly copy?: number };
  const line = (all: readonly Part[], start: End, within: string | null): End =>
    all.reduce((end: End, each) => {
      const n = count++;
      const into = (to: string) => edge(end.from, to, end.copy === undefined ? {} : { copy: end.copy });
      const placed = (kind: string, id: string, on: number, more: object) =>
        nodes.push({ kind, id, chain_id: 'c', server: `server-${on}`, ...more } as unknown as GraphNode);
      if (each.kind === 'nf') {
        const id = `c.nf${n}.0`;
        placed('nf', id, each.server, { nf: 'any', ...(within ? { merge: within } : {}) });
        refuses.set(id, each.refuses);
        if (within) edge(id, within, { direction: 'no-op' });
        into(id);
        return { from: id };
      }
      const [mirror, merge] = [`c.m${n}.mirror`, `c.m${n}.merge`];
      placed('mirror', mirror, each.servers[0]!, { within });
      placed('merge', merge, each.servers[1]!, { within, mirror, branches: each.branches });
      if (within) edge(merge, within, { direction: 'no-op' });
      into(mirror);
      each.branches.forEach((branch, copy) => {
        const last = line(branch, { from: mirror, copy }, merge);
        edge(last.from, merge, { input: copy, ...(last.copy === undefined ? {} : { copy }) });
      });
      return { from: merge };
    }, start);
  const { from } = line(parts, { from: null }, null);
  nodes.push({ kind: 'exit', id: 'c.exit', chain_id: 'c', direction: 'forward' });
  edge(from, 'c.exit');
  return { graph: { nodes, edges }, refuses };
}

/** From `CUT_MS` on, this share of the packets is lost there: on an edge, or at a node. */
interface Fault {
  readonly at: string;
  readonly reason: 'hop' | 'no_port' | 'queue_full' | 'copy_failed' | 'table_full';
  readonly share: number;
}

type Outcome = 'passes' | 'told' | 'lost';

/** Sends packets through a graph and counts what each node counts, by slot of 200 ms. */
class Traffic {
  readonly counts = new Map<string, Float64Array>();
  readonly drops = new Map<string, Map<string, Float64Array>>();
  /** Of the packets that entered in the last ten seconds: lost and refused by none, lost at all. */
  readonly lately = { entered: 0, lost: 0, touched: 0 };
  private readonly nodes: ReadonlyMap<string, GraphNode>;
  private seed = 1;
  private fate = { refused: false, touched: false };

  constructor(
    private readonly graph: Plan['graph'],
    private readonly refuses: ReadonlyMap<string, number>,
    private readonly fault: Fault | null,
  ) {
    this.nodes = new Map(graph.nodes.map((node) => [node.id, node]));
  }

  send(atMs: number): void {
    this.fate = { refused: false, touched: false };
    this.count('rule', atMs);
    const entry = this.graph.edges.find(({ from }) => from === null)!;
    const passes = this.follow(entry, atMs) === 'passes';
    if (atMs < END_MS - 12_000 || atMs >= END_MS - 2000) return;
    this.lately.entered += 1;
    if (!passes && !this.fate.refused) this.lately.lost += 1;
    if (this.fate.touched) this.lately.touched += 1;
  }

  /** Until the packet leaves, is dropped, or reaches the merge of the branch that it is in. */
  private follow(edge: GraphEdge, atMs: number): Outcome {
    if (this.happens('hop', edge.id, atMs)) return 'lost';
    const node = this.nodes.get(edge.to)!;
    if (node.kind === 'exit') {
      this.count(sampleKey('chain', 'c', 'pps'), atMs);
      return 'passes';
    }
    if (node.kind === 'merge') return 'passes';
    this.count(takenKey(node), atMs);
    if (node.kind === 'mirror') return this.copied(node, atMs);
    if (this.happens('queue_full', node.id, atMs)) return this.dropped(node.id, 'queue_full', atMs, 'lost');
    if (this.random() < (this.refuses.get(node.id) ?? 0)) {
      this.fate.refused = true;
      return this.dropped(node.id, REFUSED, atMs, 'told');
    }
    if (this.happens('no_port', node.id, atMs)) return this.dropped(node.id, 'no_port', atMs, 'told');
    this.count(passedKey(node as CountingNode), atMs);
    return this.follow(this.out(node.id)[0]!, atMs + 1);
  }

  private copied(mirror: GraphNode, atMs: number): Outcome {
    if (this.happens('copy_failed', mirror.id, atMs)) return this.dropped(mirror.id, 'copy_failed', atMs, 'lost');
    const merge = this.graph.nodes.find((node) => node.kind === 'merge' && node.mirror === mirror.id) as CountingNode;
    const outcomes = this.out(mirror.id).map((edge) => this.follow(edge, atMs + 1));
    this.count(takenKey(merge), atMs + 1, outcomes.filter((each) => each !== 'lost').length);
    if (outcomes.includes('told')) return this.dropped(merge.id, 'branch_dropped', atMs + 2, 'told');
    const laterMs = atMs + TIMEOUT_MS;
    if (outcomes.includes('lost')) return this.dropped(merge.id, 'copy_lost', laterMs, 'told');
    if (this.happens('table_full', merge.id, atMs)) return this.dropped(merge.id, 'table_full', atMs + 2, 'told');
    this.count(passedKey(merge), atMs + 2);
    return this.follow(this.out(merge.id)[0]!, atMs + 3);
  }

  private out(id: string): GraphEdge[] {
    return this.graph.edges.filter(({ from, direction }) => from === id && direction === 'forward');
  }

  private happens(reason: Fault['reason'], at: string, atMs: number): boolean {
    if (this.fault?.reason !== reason || this.fault.at !== at || atMs < CUT_MS) return false;
    const hit = this.random() < this.fault.share;
    if (hit) this.fate.touched = true;
    return hit;
  }

  private random(): number {
    this.seed = (Math.imul(this.seed, 1_664_525) + 1_013_904_223) >>> 0;
    return this.seed / 2 ** 32;
  }

  private count(key: string, atMs: number, packets = 1): void {
    const slots = this.counts.get(key) ?? new Float64Array(SLOTS);
    this.counts.set(key, slots);
    slots[Math.min(SLOTS - 1, Math.floor(atMs / SLOT_MS))]! += packets;
  }

  private dropped(id: string, reason: string, atMs: number, outcome: Outcome): Outcome {
    const reasons = this.drops.get(id) ?? new Map<string, Float64Array>();
    this.drops.set(id, reasons);
    const slots = reasons.get(reason) ?? new Float64Array(SLOTS);
    reasons.set(reason, slots);
    slots[Math.min(SLOTS - 1, Math.floor(atMs / SLOT_MS))]! += 1;
    return outcome;
  }
}

const SITE = { switches: [{ id: 'leaf-1' }], servers: [], hosts: [], links: [] } as unknown as Infrastructure;
const RULE = sampleKey('rule', 'leaf-1 class', 'pps');

/** What is told of the chain in the end, and whether anything was told before the fault. */
function play(parts: readonly Part[], fault: Fault | null, pps: number, delaysMs: readonly number[], site = SITE) {
  const { graph, refuses } = built(parts);
  const rules = [{ id: 'class', chain_id: 'c', kind: 'classify', from_hosts: ['client-1'] }];
  const fabric = { generation: 1, rules } as unknown as FabricSpec;
  const plan = { graph, fabric, chains: [{ chain_id: 'c' }] } as unknown as Plan;
  const traffic = new Traffic(graph, refuses, fault);
  for (let atMs = START_MS; atMs < END_MS - 200; atMs += 1000 / pps) traffic.send(atMs);
  const meter = new PacketMeter();
  const carriage = new CarriageMeter(() => [REFUSED]);
  carriage.follow(plan);
  const nodes = graph.nodes.filter((node) => node.kind !== 'exit');
  const none = new Float64Array(SLOTS);
  const series = [sampleKey('chain', 'c', 'pps'), ...nodes.flatMap((node) => [takenKey(node), passedKey(node)])].map(
    (key) => [key, traffic.counts.get(key) ?? none] as const,
  );
  const entered = traffic.counts.get('rule')!;
  const delay = (which: number, n: number) => delaysMs[(which + n) % delaysMs.length]!;
  const reports = [
    ...series.flatMap(([key, slots], which) =>
      Array.from(slots, (count, n) => ({
        key,
        value: (1000 * count) / SLOT_MS,
        atMs: (n + 1) * SLOT_MS + delay(which, n),
      })),
    ),
    ...Array.from({ length: END_MS / 1000 }, (_, n) => ({
      key: RULE,
      value: entered.slice(5 * n, 5 * n + 5).reduce((sum, count) => sum + count, 0),
      atMs: (n + 1) * 1000 + delay(0, n),
    })),
  ].sort((a, b) => a.atMs - b.atMs);
  const dropsAt = (id: string, nowMs: number, which: number) => {
    const until = Math.floor((nowMs - delay(which, 0)) / SLOT_MS);
    const reasons = [...(traffic.drops.get(id) ?? [])];
    return Object.fromEntries(
      reasons.map(([reason, slots]) => [reason, slots.slice(0, Math.max(0, until)).reduce((a, b) => a + b, 0)]),
    );
  };
  const counters = (nowMs: number) => () => ({
    instances: nodes.flatMap((node, which) =>
      node.kind === 'nf' ? [{ instance_id: node.id, drops: dropsAt(node.id, nowMs, which) }] : [],
    ),
    modules: nodes.flatMap((node, which) =>
      node.kind === 'nf' ? [] : [{ module_id: node.id, drops: dropsAt(node.id, nowMs, which) }],
    ),
  });
  const judge = new ChainJudge(meter, carriage);
  const parts_ = { chainId: 'c', sections: sectionsOf(plan, site.switches), nodes, whyFull: () => '' };
  const now = { infrastructure: site, down: site.links, lost: new Set<string>(), cutOff: [], areHeard: () => true };
  const told: { readonly nowMs: number; readonly what: string; readonly isTotal: boolean }[] = [];
  let last: Judgement | undefined;
  let next = 0;
  for (let nowMs = TICK_MS; nowMs <= END_MS; nowMs += TICK_MS) {
    for (; next < reports.length && reports[next]!.atMs <= nowMs; next++) {
      const { key, value, atMs } = reports[next]!;
      meter.take(key, value, atMs);
      carriage.take([{ key, value, t_ms: 0, origin: 'twin' }], atMs);
      for (const [id, perS] of carriage.drops.take(counters(atMs), atMs) ?? []) meter.take(refusedKey(id), perS, atMs);
    }
    last = judge.judge(parts_, last, now, nowMs);
    const { troubles } = last.told;
    told.push({ nowMs, what: troubles.map(({ what }) => what).join('; '), isTotal: troubles.some((it) => it.isTotal) });
  }
  return { graph, told, lately: traffic.lately, carriage: carriage.carriage('c', 10, END_MS) };
}

const rates = fc.integer({ min: 150, max: 300 });
const delays = fc.array(fc.integer({ min: 0, max: 180 }), { minLength: 20, maxLength: 20 });

it('tells nothing of a parallel chain that loses no packet, whatever its NFs refuse, also in several branches at once', () => {
  fc.assert(
    fc.property(chain, rates, delays, (parts, pps, delaysMs) => {
      const { told, carriage } = play(parts, null, pps, delaysMs);
      expect(told.filter(({ what }) => what !== '')).toEqual([]);
      // The exit counts each packet once, however many copies there were.
      expect(carriage).toMatchObject({ share: expect.closeTo(1, 1) });
    }),
    { numRuns: 40 },
  );
});

/** A place of the graph that may lose packets, and the labels by which it may be told. */
function faults({ nodes, edges }: Plan['graph']) {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const label = (id: string | null) => (id === null ? 'the switch' : labelOf(byId.get(id)!));
  const at = (id: string | null) => {
    const node = byId.get(id ?? '');
    return node && node.kind !== 'exit' ? node.server : null;
  };
  const forward = edges.filter(({ direction }) => direction === 'forward');
  const before = (id: string) => forward.filter(({ to }) => to === id).map(({ from }) => from);
  const after = (id: string) => forward.filter(({ from }) => from === id).map(({ to }) => to);
  const lossy = (at: string, reason: Fault['reason'], may: readonly (string | null)[]) => ({ at, reason, may });
  const ofEdges = forward
    .filter(({ from, to }) => at(from) !== at(to) && byId.get(to)!.kind !== 'exit')
    .map(({ id, from, to }) => {
      const isMerge = byId.get(to)!.kind === 'merge';
      return { ...lossy(id, 'hop', [from, to, ...(isMerge ? before(to) : [])]), must: label(to) };
    });
  const ofNodes = nodes.flatMap((node) => {
    const { kind, id } = node;
    if (kind === 'nf') return [lossy(id, 'no_port', [id]), lossy(id, 'queue_full', [id])];
    if (kind === 'mirror') return [lossy(id, 'copy_failed', [id, ...after(id)])];
    return kind === 'merge' ? [lossy(id, 'table_full', [id, ...before(id)])] : [];
  });
  return [...ofEdges, ...ofNodes.map((each) => ({ ...each, must: label(each.at) }))].map((each) => ({
    ...each,
    others: nodes.flatMap(({ id }) => (each.may.includes(id) || byId.get(id)!.kind === 'exit' ? [] : [label(id)])),
  }));
}

it('tells the lossy part of a parallel chain, and no other, whatever is lost there and how much', () => {
  const share = fc.oneof(fc.constant(1), fc.double({ min: 0.3, max: 0.8, noNaN: true }));
  fc.assert(
    fc.property(chain, rates, delays, fc.nat(), share, (parts, pps, delaysMs, which, lost) => {
      const places = faults(built(parts).graph);
      const { at, reason, must, others } = places[which % places.length]!;
      const { told, lately } = play(parts, { at, reason, share: lost }, pps, delaysMs);
      expect(told.filter(({ nowMs, what }) => nowMs <= CUT_MS && what !== '')).toEqual([]);
      const { what, isTotal } = told.at(-1)!;
      for (const other of others) expect(what).not.toContain(other);
      // Less than 5 % is not told, however much the place loses of what gets there.
      if (lately.lost / lately.entered < LEAST_LOSS) return;
      expect(what).toContain(must);
      if (lost < 1) expect(isTotal).toBe(false);
      const [, percent] = /^(\d+) % of the packets that enter are lost: /.exec(what) ?? [];
      if (percent === undefined) {
        expect(lost).toBe(1);
        return;
      }
      // A share that was told while the loss began stays within a tenth; what one branch lost and another refused may count as either.
      expect(Number(percent)).toBeGreaterThan((100 * lately.lost) / lately.entered - 14);
      expect(Number(percent)).toBeLessThan((100 * lately.touched) / lately.entered + 14);
    }),
    { numRuns: 100 },
  );
});

it('names the one link that is down where the server of a branch is cut off, and that everything is lost', () => {
  const parts: Part[] = [
    { kind: 'nf', refuses: 0, server: 1 },
    {
      kind: 'step',
      servers: [1, 1],
      branches: [[{ kind: 'nf', refuses: 0.1, server: 2 }], [{ kind: 'nf', refuses: 0, server: 3 }], []],
    },
  ];
  const linkOf = (server: string) => ({
    id: server,
    a: { node: server, port: 'nic0' },
    b: { node: 'leaf-1', port: 'p' },
  });
  for (const server of ['server-2', 'server-3']) {
    const site = { ...SITE, links: [linkOf(server)] } as unknown as Infrastructure;
    const { graph } = built(parts);
    const branch = graph.nodes.find((node) => node.kind === 'nf' && node.server === server)!;
    const into = graph.edges.find(({ to, direction }) => to === branch.id && direction === 'forward')!;
    const { told } = play(parts, { at: into.id, reason: 'hop', share: 1 }, 100, [50], site);
    expect(told.at(-1)).toMatchObject({
      what: `link ${server} - leaf-1 is down: this chain loses everything`,
      isTotal: true,
    });
  }
});
