import type { TrafficStatus } from '@orrery/contract';
import { quantityText } from '../../shared/format/quantity.js';

export function trafficRoute({ request }: TrafficStatus): string {
  return request.kind === 'pcap' ? `from ${request.from}` : `${request.from} to ${request.to}`;
}

/** `nameOf` gives a capture's file by its id. */
export function trafficSettings({ request }: TrafficStatus, nameOf: (pcapId: string) => string): string {
  switch (request.kind) {
    case 'http':
      return `${request.rate_per_s} requests/s, port ${request.port}, ${request.path}`;
    case 'iperf3':
      return `${request.protocol.toUpperCase()}, ${quantityText('bps', request.rate_bps)}`;
    case 'probe':
      return `${request.rate_per_s} probes/s, UDP port ${request.port}`;
    case 'pcap':
      return `${nameOf(request.pcap_id)}, ${quantityText('pps', request.rate_pps)}, ${request.loops === 1 ? 'once' : `${request.loops} times`}`;
  }
}

/** What is known to be lost of what was sent, not what is still under way; null before anything was sent or where replies are not counted. */
export function lossShare({ request, sent, errors }: TrafficStatus): number | null {
  if (request.kind === 'pcap' || sent === 0) return null;
  return errors / sent;
}

export const isRunning = ({ state }: TrafficStatus) => state === 'running' || state === 'starting';

/** The state as a badge says it: a run of which nothing came back did complete, but it did not succeed. */
export function trafficOutcome(status: TrafficStatus): { state: string; label?: string } {
  return status.state === 'completed' && lossShare(status) === 1
    ? { state: 'failed', label: 'all failed' }
    : { state: status.state };
}

/** Bits a second; a run that has ended sends nothing now, and where no mean was measured there is none to show. */
export function trafficRate(status: TrafficStatus): number | null {
  return isRunning(status) ? status.bits_per_second : status.bits_per_second || null;
}
