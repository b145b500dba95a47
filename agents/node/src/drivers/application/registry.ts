import { type Configure, configurable, type KindName } from './application-kind.js';
import { HTTP_SERVER } from './http-server/kind.js';
import { IPERF3_CLIENT } from './iperf3-client/kind.js';
import { IPERF3_SERVER } from './iperf3-server/kind.js';

/** Every kind of application that an agent runs, one line each. */
export const KINDS: ReadonlyMap<KindName, Configure> = new Map([
  configurable(HTTP_SERVER),
  configurable(IPERF3_SERVER),
  configurable(IPERF3_CLIENT),
]);
