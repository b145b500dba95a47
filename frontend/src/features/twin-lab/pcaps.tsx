import { Button, FileButton } from '@mantine/core';
import { IconTrash, IconUpload } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { call, uploadPcap } from '../../shared/api/client.js';
import { usePcaps } from '../../shared/api/queries.js';
import { useMay } from '../../shared/api/session.js';
import { quantityText } from '../../shared/format/quantity.js';
import { ConfirmButton } from '../../shared/ui/confirm-button.js';
import { FormTrouble } from '../../shared/ui/form-trouble.js';
import { notifyDone, notifyError } from '../../shared/ui/notify.js';
import { Panel } from '../../shared/ui/page-header.js';
import { EmptyState, QueryBoundary } from '../../shared/ui/states.js';
import classes from './twin-lab.module.css';

const LIMIT_BYTES = 64 * 1024 * 1024;

export function Pcaps() {
  const query = usePcaps();
  const queries = useQueryClient();
  const mayOperate = useMay('operator');
  const upload = useMutation({
    mutationFn: (file: File) => {
      if (file.size > LIMIT_BYTES)
        throw new Error(`${file.name} is larger than ${quantityText('bytes', LIMIT_BYTES)}.`);
      return uploadPcap(file.name.slice(-120), file);
    },
    onSuccess: ({ name, packets }) => {
      notifyDone(`${name} is stored: ${packets.toLocaleString()} packets`);
      return queries.invalidateQueries({ queryKey: ['twin'] });
    },
  });
  const remove = useMutation({
    mutationFn: (id: string) => call('deletePcap', { params: { id } }),
    onError: (error) => notifyError('The capture was not deleted', error),
    onSettled: () => queries.invalidateQueries({ queryKey: ['twin'] }),
  });
  const items = query.data ?? [];
  return (
    <Panel
      title="Captures for replay"
      flush
      actions={
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
              disabled={!mayOperate}
            >
              Upload capture
            </Button>
          )}
        </FileButton>
      }
    >
      {upload.error && (
        <div className={classes.inset}>
          <FormTrouble error={upload.error} shown={[]} />
        </div>
      )}
      <QueryBoundary query={query} rows={2}>
        {items.length === 0 ? (
          <EmptyState title="No capture yet">Upload a file in pcap or pcapng format, at most 64 MB.</EmptyState>
        ) : (
          <table className="table">
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col" className="number">
                  Packets
                </th>
                <th scope="col" className="number">
                  Size
                </th>
                <th scope="col" className="number">
                  Length
                </th>
                <th scope="col">
                  <span className="sr-only">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {items.map(({ id, name, packets, bytes, duration_s }) => (
                <tr key={id}>
                  <td className={classes.breaking}>{name}</td>
                  <td className="number">{packets.toLocaleString()}</td>
                  <td className="number">{quantityText('bytes', bytes)}</td>
                  <td className="number">{quantityText('ms', duration_s * 1000)}</td>
                  <td className={classes.action}>
                    <ConfirmButton
                      size="compact-xs"
                      leftSection={<IconTrash size={12} />}
                      disabled={!mayOperate}
                      loading={remove.isPending && remove.variables === id}
                      aria-label={`Delete ${name}`}
                      message={`The capture ${name} is deleted. It cannot be replayed any more.`}
                      confirmLabel="Delete capture"
                      onConfirm={() => remove.mutate(id)}
                    >
                      Delete
                    </ConfirmButton>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </QueryBoundary>
    </Panel>
  );
}
