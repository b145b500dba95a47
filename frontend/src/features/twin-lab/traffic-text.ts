import type { TrafficStatus } from '@orrery/contract';
import { quantityText } from '../../shared/format/quantity.js';

export function trafficRoute({ request }: TrafficStatus): string {
  return request.kind === 'pcap' ? `from ${request.from}` : `${request.from} to ${request.to}`;
}

export function trafficSettings({ request }: TrafficStatus): string {
  switch (request.kind) {
    case 'http':
      return `${request.rate_per_s} requests/s, port ${request.port}, ${request.path}`;
    case 'iperf3':
      return `${request.protocol.toUpperCase()}, ${quantityText('bps', request.rate_bps)}`;
    case 'probe':
      return `${request.rate_per_s} probes/s, UDP port ${request.port}`;
    case 'pcap':
      return `${request.pcap_id}, ${quantityText('pps', request.rate_pps)}, ${request.loops} times`;
  }
}

/** What is known to be lost of what was sent, not what is still under way; null before anything was sent or where replies are not counted. */
export function lossShare({ request, sent, errors }: TrafficStatus): number | null {
  if (request.kind === 'pcap' || sent === 0) return null;
  return errors / sent;
}

export const isRunning = ({ state }: TrafficStatus) => state === 'running' || state === 'starting';
