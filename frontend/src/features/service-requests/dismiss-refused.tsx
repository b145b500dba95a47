import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { call } from '../../shared/api/client.js';
import { useNeeds } from '../../shared/api/session.js';
import { countText } from '../../shared/format/number.js';
import { ConfirmButton } from '../../shared/ui/confirm-button.js';
import { notifyError } from '../../shared/ui/notify.js';
import { Reason } from '../../shared/ui/reason.js';

const state = 'refused';

/** Takes all refused requests off the list; shown while there are any. */
export function DismissRefused() {
  const queries = useQueryClient();
  const needs = useNeeds('operator');
  const { data: count = 0 } = useQuery({
    queryKey: ['service-requests', 'refused'],
    queryFn: async ({ signal }) =>
      (await call('listServiceRequests', { query: { state, limit: 1, fields: 'id' } }, { signal })).total,
    refetchInterval: 10_000,
  });
  const dismiss = useMutation({
    mutationFn: () => call('dismissServiceRequests', { query: { state } }),
    onError: (error) => notifyError('The requests were not dismissed', error),
    onSettled: () => queries.invalidateQueries({ queryKey: ['service-requests'] }),
  });
  if (count === 0) return null;
  return (
    <Reason of={needs}>
      <ConfirmButton
        disabled={needs !== null}
        loading={dismiss.isPending}
        message={`${count === 1 ? 'The refused request goes' : `All ${countText(count)} refused requests go`} off the list, with the reasons. This cannot be undone.`}
        confirmLabel="Dismiss all"
        onConfirm={() => dismiss.mutate()}
      >
        Dismiss refused ({countText(count)})
      </ConfirmButton>
    </Reason>
  );
}
