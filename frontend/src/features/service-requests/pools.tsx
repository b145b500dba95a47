import type { ServicePool } from '@orrery/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { call } from '../../shared/api/client.js';
import { useServicePools } from '../../shared/api/queries.js';
import { useNeeds } from '../../shared/api/session.js';
import { countText } from '../../shared/format/number.js';
import { Panel } from '../../shared/page/page-header.js';
import { DataTable } from '../../shared/table/data-table.js';
import { ConfirmButton } from '../../shared/ui/confirm-button.js';
import { notifyError } from '../../shared/ui/notify.js';
import { Reason } from '../../shared/ui/reason.js';
import { EmptyState, ErrorState } from '../../shared/ui/states.js';
import { INSTANCE_COLUMNS } from './columns.js';

/** A panel for each pool, with its instances and the button that takes it down. */
export function Pools() {
  const pools = useServicePools();
  const queries = useQueryClient();
  const mayDesign = useNeeds('designer');
  const remove = useMutation({
    mutationFn: ({ id, requests }: Pick<ServicePool, 'id' | 'requests'>) =>
      call('deleteServicePool', { params: { id }, query: { requests: requests > 0 ? 'release' : 'keep' } }),
    onError: (error) => notifyError('The pool was not taken down', error),
    onSettled: async () => {
      for (const key of ['service-pools', 'service-requests']) await queries.invalidateQueries({ queryKey: [key] });
    },
  });
  if (pools.error && !pools.data)
    return (
      <Panel title="Pools">
        <ErrorState error={pools.error} retry={() => pools.refetch()} title="The pools could not be read" />
      </Panel>
    );
  return pools.data?.map(({ id, definition, state, detail, instances, requests: used }) => (
    <Panel
      key={id}
      title={definition.title}
      actions={
        <Reason of={mayDesign}>
          <ConfirmButton
            size="compact-xs"
            aria-label={`Take down ${definition.title}`}
            disabled={mayDesign !== null}
            loading={remove.isPending && remove.variables.id === id}
            message={takenDownText(used)}
            confirmLabel={used > 0 ? 'Release and take down' : 'Take down'}
            onConfirm={() => remove.mutate({ id, requests: used })}
          >
            Take down
          </ConfirmButton>
        </Reason>
      }
    >
      {(state !== 'ready' || detail !== null) && (
        <p role="status">
          {state === 'removing' ? `It is being taken down. ${detail ?? ''}` : (detail ?? 'It is being deployed.')}
        </p>
      )}
      <DataTable
        label={`Instances of ${id}`}
        query={pools}
        cards={620}
        columns={INSTANCE_COLUMNS}
        rows={instances}
        rowKey={(instance) => instance.id}
        empty={<EmptyState title="No instances" />}
      />
    </Panel>
  ));
}

/** What is lost with a pool that so many requests use. */
function takenDownText(requests: number): string {
  if (requests === 0) return 'Its instances are removed.';
  const released =
    requests === 1
      ? 'The request that uses it is released, and its packets'
      : `The ${countText(requests)} requests that use it are released, and their packets`;
  return `Its instances are removed. ${released} pass its NFs no more.`;
}
