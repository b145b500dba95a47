import { Button } from '@mantine/core';
import type { P4Program } from '@orrery/contract';
import { IconDownload, IconTrash, IconUpload } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../../shared/api/client.js';
import { useP4Programs } from '../../../shared/api/queries.js';
import { useNeeds } from '../../../shared/api/session.js';
import { Panel } from '../../../shared/page/page-header.js';
import type { Column } from '../../../shared/table/column.js';
import { DataTable } from '../../../shared/table/data-table.js';
import { quantityColumn } from '../../../shared/table/quantity-column.js';
import { ConfirmButton } from '../../../shared/ui/confirm-button.js';
import { notifyError } from '../../../shared/ui/notify.js';
import { Reason } from '../../../shared/ui/reason.js';
import { EmptyState } from '../../../shared/ui/states.js';
import classes from './p4.module.css';
import { UploadDialog } from './upload-dialog.js';

const FACTS: readonly Column<P4Program>[] = [
  { id: 'title', title: 'Program', value: ({ title }) => title },
  { id: 'name', title: 'Name', className: classes.code, value: ({ name }) => name },
  { id: 'of', title: 'From', value: ({ example, by }) => (example ? 'Orrery' : by) },
  { id: 'tables', title: 'Tables', value: ({ content }) => content.tables.map(({ name }) => name).join(', ') },
  quantityColumn({ id: 'bytes', title: 'Size', quantity: 'bytes', value: ({ bytes }) => bytes }),
  { id: 'hash', title: 'Hash', className: classes.code, value: ({ hash }) => hash.slice(0, 12) },
  { id: 'switches', title: 'Runs on', value: ({ switches }) => switches.join(', ') || null },
  { id: 'summary', title: 'Shows', hidden: true, value: ({ summary }) => summary || null },
];

/** P4 programs that a switch can run instead of that of the fabric. */
export function P4Programs() {
  const query = useP4Programs();
  const queries = useQueryClient();
  const refusal = useNeeds('designer');
  const [uploading, setUploading] = useState(false);
  const remove = useMutation({
    mutationFn: (id: string) => call('deleteP4Program', { params: { id } }),
    onError: (error) => notifyError('The program was not removed', error),
    onSettled: () => queries.invalidateQueries({ queryKey: ['p4-programs'] }),
  });
  const columns: readonly Column<P4Program>[] = [
    ...FACTS,
    {
      id: 'actions',
      title: 'Actions',
      untitled: true,
      cell: ({ name, example, switches }) => (
        <div className={classes.file}>
          <Button
            size="compact-xs"
            variant="default"
            leftSection={<IconDownload size={12} />}
            aria-label={`Download ${name}`}
            onClick={() => download(name).catch((error) => notifyError('The program was not downloaded', error))}
          >
            Download
          </Button>
          {!example && (
            <Reason of={refusal ?? (switches.length > 0 ? `${switches.join(', ')} runs it` : null)}>
              <ConfirmButton
                size="compact-xs"
                leftSection={<IconTrash size={12} />}
                disabled={refusal !== null || switches.length > 0}
                loading={remove.isPending && remove.variables === name}
                aria-label={`Remove ${name}`}
                message={`The program ${name} and the entries that were kept for it are removed.`}
                confirmLabel="Remove program"
                onConfirm={() => remove.mutate(name)}
              >
                Remove
              </ConfirmButton>
            </Reason>
          )}
        </div>
      ),
    },
  ];
  return (
    <Panel
      title="P4 programs"
      actions={
        <Reason of={refusal}>
          <Button
            variant="default"
            leftSection={<IconUpload size={14} />}
            disabled={refusal !== null}
            onClick={() => setUploading(true)}
          >
            Upload program
          </Button>
        </Reason>
      }
    >
      <DataTable
        label="P4 programs"
        query={query}
        cards={620}
        columns={columns}
        rows={query.data ?? []}
        rowKey={({ name }) => name}
        empty={<EmptyState title="No P4 program yet">Upload what p4c compiles for BMv2: JSON and P4Info.</EmptyState>}
      />
      {uploading && <UploadDialog onClose={() => setUploading(false)} />}
    </Panel>
  );
}

/** Both files, under the names that p4c and `npm run build:p4` give them. */
async function download(name: string): Promise<void> {
  const { bmv2_json, p4info } = await call('downloadP4Program', { params: { id: name } });
  save(`${name}.json`, bmv2_json, 'application/json');
  save(`${name}.p4info.txtpb`, p4info, 'text/plain');
}

function save(name: string, text: string, type: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
