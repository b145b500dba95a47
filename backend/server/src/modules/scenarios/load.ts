import type { Stage } from './scenario.js';

const PORTS = { 'http-server': 80, 'probe-server': 9000 } as const;
const BODY_BYTES = 1200;

/** Creates a server of the kind on its default port of the host, unless one is declared there. */
export async function ensureServer({ api, make }: Stage, kind: keyof typeof PORTS, node: string): Promise<void> {
  const port = PORTS[kind];
  const { items } = await api.call('listApplications', { query: { node, kind, limit: 1000 } });
  const isThere = items.some(
    ({ definition: { enabled, config } }) => enabled && 'port' in config && config.port === port,
  );
  if (!isThere)
    await make('application', { id: `scenario-${kind}-${node}`, kind, node, enabled: true, config: { port } });
}

/** Requests from one host to the web server of another; headers and body of each fit one packet. */
export interface WebLoad {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly path: string;
}

/** Starts the requests; returns a function that changes their rate. */
export async function webLoad(stage: Stage, { id, from, to, path }: WebLoad, ratePerS: number) {
  await ensureServer(stage, 'http-server', to);
  const definition = (rate_per_s: number) => ({
    id,
    kind: 'http-client',
    node: from,
    enabled: true,
    config: { to, path, rate_per_s, body: 'q'.repeat(BODY_BYTES) },
  });
  await stage.make('application', definition(ratePerS));
  return async (rate: number): Promise<void> => {
    await stage.api.call('putApplication', { params: { id }, body: definition(rate) });
  };
}
