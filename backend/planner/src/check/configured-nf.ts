import type { ChainDefinition, CostProfile, NfDescriptor } from '@orrery/contract';
import { costSum, STREAM_READING } from '../stream-costs.js';
import { effectiveConfig, readsStreams } from './implementation.js';

/** The contract's bounds of a cost. */
const CYCLES_PER_PACKET = { least: 0.001, most: 1e9 };
const MOST_CYCLES_PER_BYTE = 1e6;

/** The descriptor with what a packet costs as the chain configures this NF. */
export function configuredNf(
  descriptor: NfDescriptor,
  { nodes }: Pick<ChainDefinition, 'nodes'>,
  nodeId: string,
): NfDescriptor {
  const { implementations, bytestream } = descriptor;
  if (!bytestream && !implementations.some(({ cost }) => cost.scales_with)) return descriptor;
  const node = nodes.find(({ id }) => id === nodeId);
  const own = node?.kind === 'nf' ? node.config : {};
  const config = effectiveConfig(descriptor, own);
  const reads = readsStreams(descriptor, own);
  return {
    ...descriptor,
    implementations: implementations.map((it) => {
      const cost = scaled(it.cost, config);
      return { ...it, cost: reads && it.driver === 'engine' ? costSum(cost, STREAM_READING) : cost };
    }),
  };
}

function scaled(cost: CostProfile, config: Readonly<Record<string, unknown>>): CostProfile {
  const { scales_with } = cost;
  const value = scales_with && config[scales_with.field];
  if (!scales_with || typeof value !== 'number') return cost;
  const factor = Math.max(0, value) / scales_with.of;
  return {
    ...cost,
    cycles_per_packet: Math.min(
      CYCLES_PER_PACKET.most,
      Math.max(CYCLES_PER_PACKET.least, cost.cycles_per_packet * factor),
    ),
    cycles_per_byte: Math.min(MOST_CYCLES_PER_BYTE, cost.cycles_per_byte * factor),
  };
}
