import { sampleKey } from '@orrery/contract/sample-keys';
import { useQueries } from '@tanstack/react-query';
import { call } from '../../shared/api/client.js';
import type { RunSwitch } from '../../shared/chain/run-switches.js';
import { latencyIn, type MeasuredLatency } from './measured-latency.js';

/** Measured over this time before the change began. */
const SPAN_MS = 60_000;
/** Of this version: the one before did not know the spread of the samples. */
const MEMORY = 'orrery.measured-before.2';
const MOST_REMEMBERED = 50;

/**
 * What each chain measured in the minute before the last change of its execution; null: nothing is known. The server keeps
 * samples for ten minutes; this browser remembers what it has read.
 */
export function useMeasuredBefore(
  switches: readonly { readonly id: string; readonly change: RunSwitch | null }[],
): readonly (MeasuredLatency | null)[] {
  const results = useQueries({
    queries: switches.map(({ id, change }) => ({
      queryKey: ['measured-before', id, change?.operation.id],
      enabled: change !== null && change.before.execution !== change.after.execution,
      staleTime: Number.POSITIVE_INFINITY,
      retry: false,
      queryFn: () => measuredBefore(id, change!.operation),
    })),
  });
  return results.map(({ data }) => data ?? null);
}

async function measuredBefore(
  chainId: string,
  { id, started_ms }: RunSwitch['operation'],
): Promise<MeasuredLatency | null> {
  const known = remembered();
  const before = known[id];
  if (before) return before;
  const [p50, p99] = METRICS.map((metric) => sampleKey('chain', chainId, metric));
  const { items } = await call('listSamples', { query: { keys: `${p50},${p99}`, since: started_ms - SPAN_MS } });
  const valuesOf = (key: string | undefined) =>
    (items.find((series) => series.key === key)?.points ?? []).flatMap(([t_ms, value]) =>
      t_ms >= started_ms - SPAN_MS && t_ms < started_ms ? [value] : [],
    );
  const measured = latencyIn(valuesOf(p50), valuesOf(p99));
  if (measured) remember({ ...known, [id]: measured });
  return measured;
}

const METRICS = ['latency_p50_us', 'latency_p99_us'] as const;

type Memory = Readonly<Record<string, MeasuredLatency>>;

function remembered(): Memory {
  try {
    const known: unknown = JSON.parse(localStorage.getItem(MEMORY) ?? '{}');
    return typeof known === 'object' && known !== null ? (known as Memory) : {};
  } catch {
    return {};
  }
}

function remember(all: Memory): void {
  try {
    localStorage.setItem(MEMORY, JSON.stringify(Object.fromEntries(Object.entries(all).slice(-MOST_REMEMBERED))));
  } catch {
    // A browser without storage knows it until the page is left.
  }
}
