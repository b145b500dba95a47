import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { call } from '../../shared/api/client.js';
import { serverNow } from '../../shared/api/server-clock.js';
import { useNeeds } from '../../shared/api/session.js';
import { countText } from '../../shared/format/number.js';
import { ConfirmButton } from '../../shared/ui/confirm-button.js';
import { notifyError } from '../../shared/ui/notify.js';
import { Reason } from '../../shared/ui/reason.js';

/** Of requests that hold nothing and wait for nothing. */
const STATES = ['refused', 'released'] as const;
type State = (typeof STATES)[number];

/** Those of a state that there were when it was looked, by the server's clock. */
interface Seen {
  readonly state: State;
  readonly count: number;
  readonly until_ms: number;
}

/** The server tells its time in whole seconds. */
const RESOLUTION_MS = 1000;

interface DismissRequestsProps {
  /** Of this pool; undefined: of all. */
  readonly pool: string | undefined;
  /** The page shows some only. */
  readonly isFiltered: boolean;
}

/** `All 2 refused and 1,200 released requests go off the list`. */
function consequence(seen: readonly Seen[], { pool, isFiltered }: DismissRequestsProps): string {
  const isOne = seen.length === 1 && seen[0]!.count === 1;
  const each = seen.map(({ state, count }) => `${countText(count)} ${state}`).join(' and ');
  const requests = isOne ? `The ${seen[0]!.state} request` : `All ${each} requests`;
  const reasons = seen.some(({ state }) => state === 'refused') ? ', with the reasons' : '';
  const hidden = isFiltered && pool === undefined ? ', also what the filter hides' : '';
  return `${requests}${pool === undefined ? '' : ` of ${pool}`} ${isOne ? 'goes' : 'go'} off the list${reasons}${hidden}. This cannot be undone.`;
}

/** Takes all refused and released requests off the list; shown while there are any. */
export function DismissRequests({ pool, isFiltered }: DismissRequestsProps) {
  const queries = useQueryClient();
  const needs = useNeeds('operator');
  const { data: seen = [] } = useQuery({
    queryKey: ['service-requests', 'over', pool],
    queryFn: async ({ signal }): Promise<Seen[]> => {
      const look = async (state: State): Promise<Seen[]> => {
        const query = { state, pool, limit: 1, fields: 'id' };
        const { total: count } = await call('listServiceRequests', { query }, { signal });
        return count === 0 ? [] : [{ state, count, until_ms: serverNow() + RESOLUTION_MS }];
      };
      return (await Promise.all(STATES.map(look))).flat();
    },
    refetchInterval: 10_000,
  });
  const dismiss = useMutation({
    mutationFn: async () => {
      for (const { state, until_ms } of seen)
        await call('dismissServiceRequests', { query: { state, pool, until: until_ms } });
    },
    onError: (error) => notifyError('Not all requests were dismissed', error),
    onSettled: () => queries.invalidateQueries({ queryKey: ['service-requests'] }),
  });
  if (seen.length === 0) return null;
  return (
    <Reason of={needs}>
      <ConfirmButton
        disabled={needs !== null}
        loading={dismiss.isPending}
        message={consequence(seen, { pool, isFiltered })}
        confirmLabel="Dismiss all"
        onConfirm={() => dismiss.mutate()}
      >
        Dismiss {seen.map(({ state, count }) => `${state} (${countText(count)})`).join(' and ')}
      </ConfirmButton>
    </Reason>
  );
}
