import { ApplicationDefinition } from '@orrery/contract';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { flowLoad } from './flow-load.js';
import type { Stage } from './scenario.js';

interface Told {
  readonly state: string;
  readonly metrics?: Readonly<Record<string, number>>;
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

/** Looks once per second of its own at what is told next; the last of each stays. */
function stageOf(told: Readonly<Record<string, readonly Told[]>>) {
  const made: unknown[] = [];
  const looks = new Map<string, number>();
  const stage = {
    api: {
      call: async (_route: string, { params: { id } }: { params: { id: string } }) => {
        const look = looks.get(id) ?? 0;
        looks.set(id, look + 1);
        const { state, metrics = {} } = told[id]![Math.min(look, told[id]!.length - 1)]!;
        const list = Object.entries(metrics).map(([name, value]) => ({ name, title: name, unit: 'count', value }));
        return { status: { state, detail: 'port 9101: Address already in use', metrics: list } };
      },
    },
    make: async (_kind: string, request: unknown) => {
      made.push(ApplicationDefinition.parse(request));
      return '';
    },
    until: async (what: string, seconds: number, probe: () => Promise<unknown>) => {
      for (let i = 0; i < seconds; i++) {
        const found = await probe();
        if (found !== null) return found;
        vi.advanceTimersByTime(1000);
      }
      throw new Error(`${what} did not come in ${seconds} s`);
    },
  } as unknown as Stage;
  return { stage, made };
}

const LOAD = { id: 'load', from: 'client-1', to: 'web-1', port: 9101, settings: { flows_per_s: 50, duration_s: 5 } };

it('starts the sink before the flows, and waits until each packet has arrived', async () => {
  const { stage, made } = stageOf({
    'load-sink': [
      { state: 'starting' },
      { state: 'running', metrics: { received: 0, lost: 0 } },
      { state: 'running', metrics: { received: 91, duplicates: 2, lost: 5 } },
      { state: 'running', metrics: { received: 102, duplicates: 2, lost: 0 } },
    ],
    load: [{ state: 'running' }, { state: 'completed', metrics: { sent: 100 } }],
  });
  const load = await flowLoad(stage, LOAD);
  expect(made).toMatchObject([
    { id: 'load-sink', kind: 'flow-sink', node: 'web-1', config: { port: 9101 } },
    { id: 'load', kind: 'flow-generator', node: 'client-1', config: { to: 'web-1', port: 9101, flows_per_s: 50 } },
  ]);
  expect(await load.ended(10)).toEqual({
    generator: { sent: 100 },
    sink: { received: 102, duplicates: 2, lost: 0 },
    missing: 0,
  });
});

it('waits for packets as long as some arrive, and tells how many do not', async () => {
  const arriving = (received: number) => ({ state: 'running', metrics: { received, lost: 1 } });
  const { stage } = stageOf({
    'load-sink': [arriving(0), arriving(0), arriving(50), arriving(50), arriving(97), arriving(97)],
    load: [{ state: 'completed', metrics: { sent: 100 } }],
  });
  const load = await flowLoad(stage, LOAD);
  expect(await load.figures()).toEqual({ generator: { sent: 100 }, sink: { received: 0, lost: 1 } });
  const begin = performance.now();
  expect(await load.ended(20)).toMatchObject({ sink: { received: 97 }, missing: 3 });
  expect(performance.now() - begin).toBeGreaterThanOrEqual(5000);
});

it('does not call a load ended that goes on', async () => {
  const { stage } = stageOf({ 'load-sink': [{ state: 'running' }], load: [{ state: 'running' }] });
  await expect((await flowLoad(stage, LOAD)).ended(30)).rejects.toThrow('the end of the flows');
});

it('does not take what was not counted for nothing lost', async () => {
  const { stage } = stageOf({
    'load-sink': [{ state: 'running' }, { state: 'running' }, { state: 'running', metrics: { received: 90 } }],
    load: [{ state: 'completed' }, { state: 'completed', metrics: { sent: 100 } }],
  });
  expect(await (await flowLoad(stage, LOAD)).ended(20)).toMatchObject({ missing: 10 });
  const { stage: silent } = stageOf({ 'load-sink': [{ state: 'running' }], load: [{ state: 'completed' }] });
  await expect((await flowLoad(silent, LOAD)).ended(20)).rejects.toThrow('the end of the flows');
});

it('fails with the reason of an end that does not run', async () => {
  const { stage } = stageOf({ 'load-sink': [{ state: 'failed' }] });
  await expect(flowLoad(stage, LOAD)).rejects.toThrow('load-sink does not run: port 9101');
});
