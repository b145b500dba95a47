import { z } from 'zod';
import { APPLICATION_METRICS, type ApplicationKindInfo } from './application.js';
import type { ApplicationKind } from './kind.js';
import { FLOW_GENERATOR } from './kinds/flow-generator.js';
import { FLOW_SINK } from './kinds/flow-sink.js';
import { HTTP_CLIENT } from './kinds/http-client.js';
import { HTTP_SERVER } from './kinds/http-server.js';
import { IPERF3_CLIENT } from './kinds/iperf3-client.js';
import { IPERF3_SERVER } from './kinds/iperf3-server.js';
import { PCAP_REPLAY } from './kinds/pcap-replay.js';
import { PROBE } from './kinds/probe.js';
import { PROBE_SERVER } from './kinds/probe-server.js';

/** Every application kind, one line each. */
export const APPLICATION_KINDS = [
  HTTP_SERVER,
  HTTP_CLIENT,
  IPERF3_SERVER,
  IPERF3_CLIENT,
  PROBE_SERVER,
  PROBE,
  PCAP_REPLAY,
  FLOW_SINK,
  FLOW_GENERATOR,
] as const;
export type ApplicationKindName = (typeof APPLICATION_KINDS)[number]['kind'];
export type AnyApplicationKind = ApplicationKind<ApplicationKindName, z.ZodObject>;

const byName = new Map<ApplicationKindName, AnyApplicationKind>(
  APPLICATION_KINDS.map((kind) => [kind.kind, kind as unknown as AnyApplicationKind]),
);

export function applicationKind(name: ApplicationKindName): AnyApplicationKind {
  return byName.get(name)!;
}

/** The declaration of a kind as API data. */
export function applicationKindInfo({
  kind,
  title,
  description,
  runs_on,
  config,
  metrics,
}: AnyApplicationKind): ApplicationKindInfo {
  return {
    id: kind,
    title,
    description,
    runs_on: [...runs_on],
    config_schema: z.toJSONSchema(config, { io: 'input' }) as Record<string, unknown>,
    metrics: metrics.map((name) => ({ name, ...APPLICATION_METRICS[name] })),
  };
}
