import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import type { Worker } from 'node:worker_threads';
import { Infrastructure, type NfDescriptor, nfInstances, type PlannedChain } from '@orrery/contract';
import { afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import type { Log } from '../../platform/log.js';
import { monitorChain, RACK } from '../../testing/fixtures.js';
import { loadCatalogue } from '../nf-descriptors/catalogue.js';
import type { PlanJob } from './plan-thread.js';
import { Planner } from './planner.js';

const NFS = fileURLToPath(new URL('../../../../../agents/nfs', import.meta.url));
const NAMES = ['monitor', 'firewall', 'ids'];

let descriptors: readonly NfDescriptor[];
let planner: Planner;

beforeAll(async () => {
  ({ descriptors } = await loadCatalogue([NFS]));
});

beforeEach(() => {
  planner = new Planner({ error: () => undefined } as unknown as Log);
});

afterEach(() => planner.onApplicationShutdown());

/** Linear chains of three NFs each. */
function chains(count: number): PlannedChain[] {
  return Array.from({ length: count }, (_, i) => {
    const { traffic_class, ...rest } = monitorChain(`c${i}`);
    const ids = ['in', ...NAMES, 'out'];
    const definition = {
      ...rest,
      slos: [],
      traffic_class: { ...traffic_class, match: [{ attribute: 'port.dst', op: 'is' as const, value: 1000 + i }] },
      nodes: [
        { id: 'in', kind: 'ingress' as const },
        ...NAMES.map((id) => ({ id, kind: 'nf' as const, nf: id, config: {} })),
        { id: 'out', kind: 'egress' as const },
      ],
      edges: ids.slice(1).map((to, e) => ({ id: `e${e}`, from: ids[e]!, to, filter: [] })),
    };
    return { chain_id: `p-${i}`, version: 1, definition };
  });
}

function rack(servers: number): Infrastructure {
  const [server] = RACK.servers;
  const [fabric] = RACK.switches;
  const ids = Array.from({ length: servers }, (_, i) => `server-${i + 1}`);
  return Infrastructure.parse({
    ...RACK,
    boards: [],
    servers: ids.map((id) => ({ ...server, id, cores: 8 })),
    switches: [{ ...fabric, table_entries: 4000 }],
    links: ids.map((id, i) => ({
      ...RACK.links[0],
      id: `link-${i}`,
      a: { node: id, port: server!.nics[0]!.name },
      b: { node: fabric!.id, port: `p${i}` },
    })),
  });
}

function input(count: number) {
  const infrastructure = rack(24);
  return { id: `plan-${count}`, created_ms: 0, chains: chains(count), descriptors, infrastructure, base: null };
}

/** Ends its thread, as a crash does. */
async function end(of: Planner): Promise<void> {
  await (of as unknown as { readonly thread: { readonly worker: Worker } }).thread.worker.terminate();
}

it('does not delay timers while it makes a plan of 192 instances', async () => {
  await planner.plan(input(1));
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const started = performance.now();
  const { plan, text } = await planner.plan(input(64));
  const elapsed_ms = performance.now() - started;
  delay.disable();
  expect(plan).toMatchObject({ feasible: true, conflicts: [] });
  expect(nfInstances(plan.graph)).toHaveLength(192);
  expect(JSON.parse(text)).toEqual(plan);
  // Apart from copying input and plan, which runs on the event loop.
  expect(delay.percentile(90) / 1e6).toBeLessThan(50);
  expect(delay.max / 1e6).toBeLessThan(elapsed_ms / 2);
});

it('makes plans before comparisons that wait, and both see what they are for', async () => {
  const { plan: base } = await planner.plan(input(2));
  const limits = { loads: [], max_moved: 8, held: [] };
  const order: string[] = [];
  const told = (name: string) => (answer: unknown) => {
    order.push(name);
    return answer;
  };
  const [, comparison, plan] = await Promise.all([
    planner.plan(input(16)).then(told('first')),
    planner.compare({ ...input(2), base, chains: base.chains }, limits).then(told('comparison')),
    planner.plan({ ...input(3), base }).then(told('second')),
  ]);
  expect(order).toEqual(['first', 'second', 'comparison']);
  expect(comparison).toMatchObject({ base: base.id, better: null });
  expect(plan).toMatchObject({ plan: { feasible: true, base_plan: base.id } });
});

it('makes no comparison that was given up before its turn came, and the next one all the same', async () => {
  const { plan: base } = await planner.plan(input(2));
  const caller = new AbortController();
  const compare = (signal?: AbortSignal) =>
    planner.compare({ ...input(2), base, chains: base.chains }, { loads: [], max_moved: 8, held: [] }, signal);
  const planning = planner.plan(input(16));
  const given = expect(compare(caller.signal)).rejects.toMatchObject({ status: 503 });
  caller.abort();
  await given;
  const next = compare();
  expect((await planning).plan.feasible).toBe(true);
  expect(await next).toMatchObject({ base: base.id });
});

it('names the field that makes planning impossible', async () => {
  const { chains: drawn, ...rest } = input(1);

  const [server] = rest.infrastructure.servers;
  const servers = Array.from({ length: 1001 }, (_, i) => ({ ...server!, id: `s${i}` }));
  await expect(
    planner.plan({ ...rest, chains: drawn, infrastructure: { ...rest.infrastructure, servers } }),
  ).rejects.toMatchObject({ status: 422, errors: [{ code: 'cannot-be-planned' }] });
});

it('says which limit to raise where the time does not suffice', async () => {
  await expect(planner.plan(input(64), 0.001)).rejects.toMatchObject({
    status: 422,
    errors: [{ pointer: '/time_limit_s', code: 'out-of-time' }],
  });
  expect((await planner.plan(input(1))).plan.feasible).toBe(true);
});

it('plans beside what runs, also in a thread that was started anew', async () => {
  const { plan: base } = await planner.plan(input(2));
  const next = { ...input(3), base };
  const running = nfInstances(base.graph).map(({ id }) => id);
  const check = async () => {
    const { plan } = await planner.plan(next);
    expect(plan).toMatchObject({ feasible: true, base_plan: base.id, chains: next.chains });
    expect(plan.diff.kept.toSorted()).toEqual(running.toSorted());
    expect(plan.diff.added).toHaveLength(3);
  };
  await check();
  await end(planner);
  await check();
});

it('sends no plan back to the thread that made it, and has the rules that stay as the objects that they were', async () => {
  const { thread } = planner as unknown as { readonly thread: { run(job: PlanJob): unknown } };
  const run = vi.spyOn(thread, 'run');
  const { plan: base } = await planner.plan(input(2));
  const { plan } = await planner.plan({ ...input(3), base, chains: [...base.chains, ...chains(3).slice(2)] });
  expect(plan).toMatchObject({ feasible: true, base_plan: base.id });
  expect(run.mock.calls.map(([job]) => job.input.common.find(([field]) => field === 'base')?.[1])).toEqual([
    undefined,
    { name: base.id },
  ]);
  const known = new Map(base.fabric.rules.map((rule) => [rule.id, rule]));
  const stay = plan.fabric.rules.filter((rule) => isDeepStrictEqual(rule, known.get(rule.id)));
  expect(stay).not.toEqual([]);
  expect(stay.every((rule) => rule === known.get(rule.id))).toBe(true);
});

it('rejects waiting requests when it stops', async () => {
  const waiting = expect(planner.plan(input(64))).rejects.toMatchObject({ status: 503 });
  await planner.onApplicationShutdown();
  await waiting;
});
