import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { call } from '../../shared/api/client.js';
import { useNeeds } from '../../shared/api/session.js';
import { countText } from '../../shared/format/number.js';
import { ConfirmButton } from '../../shared/ui/confirm-button.js';
import { notifyError } from '../../shared/ui/notify.js';
import { Reason } from '../../shared/ui/reason.js';

/** Of requests that hold nothing and wait for nothing. */
const STATES = ['refused', 'released'] as const;
type Counts = Readonly<Record<(typeof STATES)[number], number>>;

const NONE: Counts = { refused: 0, released: 0 };
const present = (counts: Counts) => STATES.filter((state) => counts[state] > 0);

/** `All 2 refused and 1,200 released requests go off the list`. */
function consequence(counts: Counts): string {
  const states = present(counts);
  const isOne = counts.refused + counts.released === 1;
  const each = states.map((state) => `${countText(counts[state])} ${state}`).join(' and ');
  const reasons = counts.refused > 0 ? ', with the reasons' : '';
  return `${isOne ? `The ${states[0]} request goes` : `All ${each} requests go`} off the list${reasons}. This cannot be undone.`;
}

/** Takes all refused and released requests off the list; shown while there are any. */
export function DismissRequests() {
  const queries = useQueryClient();
  const needs = useNeeds('operator');
  const { data: counts = NONE } = useQuery({
    queryKey: ['service-requests', 'over'],
    queryFn: async ({ signal }): Promise<Counts> => {
      const count = async (state: (typeof STATES)[number]) =>
        (await call('listServiceRequests', { query: { state, limit: 1, fields: 'id' } }, { signal })).total;
      const [refused, released] = await Promise.all([count('refused'), count('released')]);
      return { refused, released };
    },
    refetchInterval: 10_000,
  });
  const dismiss = useMutation({
    mutationFn: async (states: readonly (typeof STATES)[number][]) => {
      for (const state of states) await call('dismissServiceRequests', { query: { state } });
    },
    onError: (error) => notifyError('Not all requests were dismissed', error),
    onSettled: () => queries.invalidateQueries({ queryKey: ['service-requests'] }),
  });
  const states = present(counts);
  if (states.length === 0) return null;
  return (
    <Reason of={needs}>
      <ConfirmButton
        disabled={needs !== null}
        loading={dismiss.isPending}
        message={consequence(counts)}
        confirmLabel="Dismiss all"
        onConfirm={() => dismiss.mutate(states)}
      >
        Dismiss {states.map((state) => `${state} (${countText(counts[state])})`).join(' and ')}
      </ConfirmButton>
    </Reason>
  );
}
