import type { SloStatus } from '@orrery/contract';
import { useMemo } from 'react';
import { useSlos } from '../api/queries.js';
import { useLiveSlos } from './hooks.js';

/** The resource determines which objectives exist; newer statuses come from the stream. */
export function mergeSlos(known: readonly SloStatus[], streamed: readonly SloStatus[]): SloStatus[] {
  const newest = new Map(streamed.map((slo) => [`${slo.chain_id}/${slo.slo_id}`, slo]));
  return known.map((slo) => {
    const live = newest.get(`${slo.chain_id}/${slo.slo_id}`);
    return live && live.t_ms >= slo.t_ms ? live : slo;
  });
}

export function useSloRows() {
  const query = useSlos();
  const streamed = useLiveSlos();
  const rows = useMemo(() => mergeSlos(query.data ?? [], streamed), [query.data, streamed]);
  return { query, rows };
}
