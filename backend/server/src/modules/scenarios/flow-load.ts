import type { ApplicationMetricName, FlowGeneratorConfig } from '@orrery/contract';
import type { z } from 'zod';
import type { Stage } from './scenario.js';

type Settings = Omit<z.input<typeof FlowGeneratorConfig>, 'to' | 'port'>;

/** Flows from one host to a sink of its own at another, whose counts begin with it. */
export interface FlowLoad {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  /** Which only this load has at that host. */
  readonly port: number;
  /** A load that changes is a `wave`; without `duration_s` it runs until the end of the scenario. */
  readonly settings: Settings;
}

/** What both ends have counted; `null`: not told yet. */
export interface FlowFigures {
  readonly generator: Readonly<Partial<Record<ApplicationMetricName, number | null>>>;
  readonly sink: Readonly<Partial<Record<ApplicationMetricName, number | null>>>;
}

export interface RunningLoad {
  figures(): Promise<FlowFigures>;
  /** What was counted once the load has ended by itself, and how many of its packets have not arrived by then. */
  ended(withinS: number): Promise<FlowFigures & { readonly missing: number }>;
}

const READY_S = 20;
/** The sink cannot know of packets lost at the very end: so long nothing more arrives. */
const QUIET_MS = 3000;

/** Starts the sink, then the flows. Both are removed after the run. */
export async function flowLoad(stage: Stage, { id, from, to, port, settings }: FlowLoad): Promise<RunningLoad> {
  const { api, make, until } = stage;
  const sink = `${id}-sink`;
  const statusOf = async (application: string) => {
    const { status } = await api.call('getApplication', { params: { id: application } });
    if (status.state === 'failed') throw new Error(`${application} does not run: ${status.detail}`);
    return { ...status, counted: Object.fromEntries(status.metrics.map(({ name, value }) => [name, value])) };
  };
  const figures = async (): Promise<FlowFigures> => ({
    generator: (await statusOf(id)).counted,
    sink: (await statusOf(sink)).counted,
  });
  await make('application', { id: sink, kind: 'flow-sink', node: to, enabled: true, config: { port } });
  await until('the flow sink', READY_S, async () => ((await statusOf(sink)).state === 'running' ? true : null));
  const config = { ...settings, to, port };
  await make('application', { id, kind: 'flow-generator', node: from, enabled: true, config });
  let last = { arrived: -1, at_ms: 0 };
  return {
    figures,
    ended: (withinS) =>
      until('the end of the flows', withinS, async () => {
        if ((await statusOf(id)).state !== 'completed') return null;
        const found = await figures();
        const { sent } = found.generator;
        const { received, duplicates } = found.sink;
        // What nobody has counted is not known to have arrived, nor to be lost.
        if (typeof sent !== 'number' || typeof received !== 'number') return null;
        const arrived = received - (duplicates ?? 0);
        if (arrived !== last.arrived) last = { arrived, at_ms: performance.now() };
        const missing = sent - arrived;
        const isQuiet = performance.now() - last.at_ms >= QUIET_MS;
        return missing <= 0 || isQuiet ? { ...found, missing } : null;
      }),
  };
}
