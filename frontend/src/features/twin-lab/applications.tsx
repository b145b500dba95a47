import { Button } from '@mantine/core';
import { type Application, type Infrastructure, samplePrefix } from '@orrery/contract';
import { IconPlus, IconSend } from '@tabler/icons-react';
import { type ComponentProps, useMemo, useState } from 'react';
import { useSearchParams } from 'react-router';
import { useApplicationKinds, useApplications, usePcaps } from '../../shared/api/queries.js';
import { Panel } from '../../shared/page/page-header.js';
import { useSeededSamples } from '../../shared/stream/seed.js';
import { DataTable } from '../../shared/table/data-table.js';
import { EmptyState } from '../../shared/ui/states.js';
import { useSetUrlParams } from '../../shared/ui/url-state.js';
import { useApplicationActions } from './application-actions.js';
import { applicationColumns } from './application-columns.js';
import { ApplicationDialog } from './application-dialog.js';
import { inOrder } from './application-text.js';

/** The application that the address asks to add: `?add=http-client&node=client-1&to=www&port=80`. */
function useStart(): [ComponentProps<typeof ApplicationDialog>['start'], () => void] {
  const [search] = useSearchParams();
  const setParams = useSetUrlParams();
  const kind = search.get('add');
  const port = search.get('port');
  const config = { to: search.get('to') ?? '', ...(port === null ? {} : { port: Number(port) }) };
  return [
    kind === null ? undefined : { kind, node: search.get('node') ?? '', config },
    () => setParams({ add: null, node: null, to: null, port: null }),
  ];
}

/** The programs on hosts and servers, with their metrics. */
export function Applications({ infrastructure }: { readonly infrastructure: Infrastructure }) {
  const query = useApplications();
  const kinds = useApplicationKinds();
  const pcaps = usePcaps();
  const actions = useApplicationActions();
  /** The application that is edited; `new`: one that is added. */
  const [edited, setEdited] = useState<Application | 'new' | null>(null);
  const [start, clearStart] = useStart();
  const rows = useMemo(() => inOrder(query.data ?? []), [query.data]);
  const nameOfPcap = (id: string) => pcaps.data?.find((pcap) => pcap.id === id)?.name ?? id;
  useSeededSamples(rows.length > 0 ? [samplePrefix('application')] : []);
  const columns = applicationColumns({ kinds: kinds.data ?? [], nameOfPcap, actions, edit: setEdited });
  const add = (
    <Button
      size="compact-xs"
      leftSection={<IconPlus size={12} aria-hidden />}
      disabled={!actions.may || !kinds.data}
      title={actions.may ? undefined : 'Needs the role operator'}
      onClick={() => setEdited('new')}
    >
      Add
    </Button>
  );
  return (
    <Panel title="Applications" actions={add} flush>
      <DataTable
        label="Applications"
        columns={columns}
        rows={rows}
        rowKey={({ id }) => id}
        query={query}
        cards={620}
        empty={
          <EmptyState icon={IconSend} title="No applications">
            Add a server and a client; the counters of the chains between them follow.
          </EmptyState>
        }
      />
      {(edited || start) && kinds.data && query.data && actions.may && (
        <ApplicationDialog
          kinds={kinds.data}
          edited={edited === 'new' ? null : edited}
          start={start}
          taken={rows.map(({ id }) => id)}
          infrastructure={infrastructure}
          pcaps={pcaps.data ?? []}
          onClose={() => {
            setEdited(null);
            clearStart();
          }}
        />
      )}
    </Panel>
  );
}
