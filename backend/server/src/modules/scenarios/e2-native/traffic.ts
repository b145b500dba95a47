import { ensureServer } from '../load.js';
import type { Stage } from '../scenario.js';
import type { Comparison } from './comparisons.js';

const STREAM_PORT = 5311;
const STREAM_BPS = 200_000_000;
const FLOOD_PORT = 5312;
/** More than the twin carries. */
const FLOOD_BPS = 1_000_000_000;
const FLOOD_BYTES = 64;

interface Ends {
  readonly from: string;
  readonly to: string;
}

type Switch = (isOn: boolean) => Promise<void>;

/** Starts what the comparison sends; the function stops it. */
export async function send(stage: Stage, { id, traffic }: Comparison, ends: Ends, rate_per_s: number) {
  const client = { id: `scenario-e2-${id}`, node: ends.from };
  const { to } = ends;
  switch (traffic) {
    case 'probes':
      await ensureServer(stage, 'probe-server', to);
      return application(stage, { ...client, kind: 'probe', config: { to, rate_per_s } }, true);
    case 'requests': {
      await ensureServer(stage, 'http-server', to);
      return application(
        stage,
        { ...client, kind: 'http-client', config: { to, path: '/videos/one', rate_per_s } },
        true,
      );
    }
    case 'stream': {
      const config = { to, port: STREAM_PORT, protocol: 'tcp', rate_bps: STREAM_BPS };
      return iperf3(stage, client.id, ends, config, true);
    }
  }
}

/** A flood that is off; the function turns it on and off. */
export function prepareFlood(stage: Stage, ends: Ends): Promise<Switch> {
  const config = { to: ends.to, port: FLOOD_PORT, rate_bps: FLOOD_BPS, packet_bytes: FLOOD_BYTES };
  return iperf3(stage, 'scenario-e2-flood', ends, config, false);
}

async function iperf3(
  stage: Stage,
  id: string,
  { from, to }: Ends,
  config: Record<string, unknown> & { readonly port: number },
  enabled: boolean,
): Promise<Switch> {
  await application(
    stage,
    { id: `${id}-server`, kind: 'iperf3-server', node: to, config: { port: config.port } },
    true,
  );
  return application(stage, { id, kind: 'iperf3-client', node: from, config }, enabled);
}

async function application(
  stage: Stage,
  definition: { readonly id: string; readonly kind: string; readonly node: string; readonly config: object },
  enabled: boolean,
): Promise<Switch> {
  await stage.make('application', { ...definition, enabled });
  return async (isOn) => {
    const body = { ...definition, enabled: isOn } as never;
    await stage.api.call('putApplication', { params: { id: definition.id }, body });
  };
}
