import { Button, FileButton } from '@mantine/core';
import { IconTrash, IconUpload } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { call, uploadPcap } from '../../shared/api/client.js';
import { usePcaps } from '../../shared/api/queries.js';
import { useNeeds } from '../../shared/api/session.js';
import { countText } from '../../shared/format/number.js';
import { quantityText } from '../../shared/format/quantity.js';
import { Panel } from '../../shared/page/page-header.js';
import type { Column } from '../../shared/table/column.js';
import { DataTable } from '../../shared/table/data-table.js';
import { quantityColumn } from '../../shared/table/quantity-column.js';
import { ConfirmButton } from '../../shared/ui/confirm-button.js';
import { FormTrouble } from '../../shared/ui/form-trouble.js';
import { notifyDone, notifyError } from '../../shared/ui/notify.js';
import { Reason } from '../../shared/ui/reason.js';
import { EmptyState } from '../../shared/ui/states.js';
import classes from './twin-lab.module.css';

type Pcap = NonNullable<ReturnType<typeof usePcaps>['data']>[number];

const FIGURES: readonly Column<Pcap>[] = [
  { id: 'name', title: 'Name', className: classes.breaking, value: ({ name }) => name },
  {
    id: 'packets',
    title: 'Packets',
    number: true,
    value: ({ packets }) => packets,
    cell: ({ packets }) => countText(packets),
  },
  quantityColumn({ id: 'size', title: 'Size', quantity: 'bytes', value: ({ bytes }) => bytes }),
  quantityColumn({ id: 'length', title: 'Length', quantity: 'ms', value: ({ duration_s }) => duration_s * 1000 }),
];

const LIMIT_BYTES = 64 * 1024 * 1024;

export function Pcaps() {
  const query = usePcaps();
  const queries = useQueryClient();
  const refusal = useNeeds('operator');
  const upload = useMutation({
    mutationFn: (file: File) => {
      if (file.size > LIMIT_BYTES)
        throw new Error(`${file.name} is larger than ${quantityText('bytes', LIMIT_BYTES)}.`);
      return uploadPcap(file.name.slice(-120), file);
    },
    onSuccess: ({ name, packets }) => {
      notifyDone(`${name} is stored: ${countText(packets)} packets`);
      return queries.invalidateQueries({ queryKey: ['twin'] });
    },
  });
  const remove = useMutation({
    mutationFn: (id: string) => call('deletePcap', { params: { id } }),
    onError: (error) => notifyError('The capture was not deleted', error),
    onSettled: () => queries.invalidateQueries({ queryKey: ['twin'] }),
  });
  const columns: readonly Column<Pcap>[] = [
    ...FIGURES,
    {
      id: 'actions',
      title: 'Actions',
      untitled: true,
      className: classes.action,
      cell: ({ id, name }) => (
        <Reason of={refusal}>
          <ConfirmButton
            size="compact-xs"
            leftSection={<IconTrash size={12} />}
            disabled={refusal !== null}
            loading={remove.isPending && remove.variables === id}
            aria-label={`Delete ${name}`}
            message={`The capture ${name} is deleted. It cannot be replayed any more.`}
            confirmLabel="Delete capture"
            onConfirm={() => remove.mutate(id)}
          >
            Delete
          </ConfirmButton>
        </Reason>
      ),
    },
  ];
  return (
    <Panel
      title="Captures for replay"
      actions={
        <Reason of={refusal}>
          <FileButton
            accept=".pcap,.pcapng,.cap,application/vnd.tcpdump.pcap"
            inputProps={{ 'aria-label': 'Capture file in pcap or pcapng format' }}
            onChange={(file) => file && upload.mutate(file)}
          >
            {(props) => (
              <Button
                {...props}
                variant="default"
                leftSection={<IconUpload size={14} />}
                loading={upload.isPending}
                disabled={refusal !== null}
              >
                Upload capture
              </Button>
            )}
          </FileButton>
        </Reason>
      }
    >
      {upload.error && (
        <div className={classes.inset}>
          <FormTrouble error={upload.error} shown={[]} />
        </div>
      )}
      <DataTable
        label="Captures for replay"
        query={query}
        columns={columns}
        rows={query.data ?? []}
        rowKey={({ id }) => id}
        empty={<EmptyState title="No capture yet">Upload a file in pcap or pcapng format, at most 64 MB.</EmptyState>}
      />
    </Panel>
  );
}
