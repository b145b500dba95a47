import { useMutation, useQueryClient } from '@tanstack/react-query';
import { call } from '../../shared/api/client.js';
import { useServicePools } from '../../shared/api/queries.js';
import { useNeeds } from '../../shared/api/session.js';
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
    mutationFn: (id: string) => call('deleteServicePool', { params: { id }, query: {} }),
    onError: (error) => notifyError('The pool was not taken down', error),
    onSettled: () => queries.invalidateQueries({ queryKey: ['service-pools'] }),
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
        <Reason of={mayDesign ?? (used > 0 ? 'Requests use it' : null)}>
          <ConfirmButton
            size="compact-xs"
            aria-label={`Take down ${definition.title}`}
            disabled={mayDesign !== null || used > 0}
            loading={remove.isPending && remove.variables === id}
            message="Its instances are removed."
            confirmLabel="Take down"
            onConfirm={() => remove.mutate(id)}
          >
            Take down
          </ConfirmButton>
        </Reason>
      }
    >
      {(state !== 'ready' || detail !== null) && (
        <p role="status">{state === 'removing' ? 'It is being taken down.' : (detail ?? 'It is being deployed.')}</p>
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
