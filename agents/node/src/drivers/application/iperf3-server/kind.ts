import { Iperf3ServerConfig } from '@orrery/contract';
import type { ServerApplication } from '../application-kind.js';
import { isListening, latestRate } from '../iperf3-output.js';

/** A stream that receives nothing for this long is ended, so that the next client finds the server free. */
const STALLED_MS = 10_000;
/** During a stream there is a line per second. */
const IDLE_MS = 2500;

export const IPERF3_SERVER: ServerApplication<Iperf3ServerConfig> = {
  kind: 'iperf3-server',
  config: Iperf3ServerConfig,
  ends: false,
  command: ({ port }) => [
    'iperf3',
    ...['-s', '-p', `${port}`, '-f', 'k', '-i', '1', '--forceflush', '--rcv-timeout', `${STALLED_MS}`],
  ],
  responds: async ({ port }) => isListening(port),
  metrics: latestRate,
  idle: { after_ms: IDLE_MS, metrics: { bits_per_second: 0 } },
};
