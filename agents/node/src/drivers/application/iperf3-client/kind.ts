import { Iperf3ClientConfig } from '@orrery/contract';
import { destination, type ServerApplication } from '../application-kind.js';
import { latestRate } from '../iperf3-output.js';

const TCP_MSS_MIN = 88;
const CONNECT_TIMEOUT_MS = 5000;

export const IPERF3_CLIENT: ServerApplication<Iperf3ClientConfig> = {
  kind: 'iperf3-client',
  config: Iperf3ClientConfig,
  ends: true,
  command: ({ port, protocol, rate_bps, packet_bytes, duration_s }, address) => {
    // For iperf3, 0 means no limit, so a positive duration is at least 1 s.
    const seconds = duration_s === 0 ? 0 : Math.max(1, Math.round(duration_s));
    return [
      'iperf3',
      ...['-c', destination(address), '-p', `${port}`, '-f', 'k', '-i', '1', '--forceflush'],
      ...['--connect-timeout', `${CONNECT_TIMEOUT_MS}`, '-b', `${Math.round(rate_bps)}`, '-t', `${seconds}`],
      ...(protocol === 'udp' ? ['-u', '-l', `${packet_bytes}`] : ['-M', `${Math.max(TCP_MSS_MIN, packet_bytes)}`]),
    ];
  },
  responds: async (_, output) => latestRate(output) !== null,
  metrics: latestRate,
  idle: null,
};
