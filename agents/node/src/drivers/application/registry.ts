import type { KindName, ServerApplication } from './application-kind.js';
import { HTTP_SERVER } from './http-server/kind.js';
import { IPERF3_CLIENT } from './iperf3-client/kind.js';
import { IPERF3_SERVER } from './iperf3-server/kind.js';

/** Every kind of application that an agent runs, one line each. */
export const KINDS: ReadonlyMap<KindName, ServerApplication<never>> = new Map(
  [HTTP_SERVER, IPERF3_SERVER, IPERF3_CLIENT].map((kind) => [kind.kind, kind as ServerApplication<never>]),
);
