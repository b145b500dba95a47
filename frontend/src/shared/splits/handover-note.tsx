import { Button } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { call } from '../api/client.js';
import { useMay } from '../api/session.js';
import { notifyError } from '../ui/notify.js';
import classes from './splits.module.css';

interface HandoverNoteProps {
  readonly chain_id: string;
  readonly node_id: string;
}

/** Why a split waits to be handed over to the switches, or was given up, and the way to try that again. */
export function HandoverNote({ chain_id, node_id }: HandoverNoteProps) {
  const params = { chain_id, node_id };
  const queryKey = ['split-handover', chain_id, node_id];
  const queries = useQueryClient();
  const mayOperate = useMay('operator');
  // It changes without an event.
  const { data } = useQuery({
    queryKey,
    queryFn: async ({ signal }) => (await call('getSplit', { params }, { signal })).handover ?? null,
    refetchInterval: 2000,
  });
  const retry = useMutation({
    mutationFn: () => call('retryHandover', { params }),
    onError: (error) => notifyError('The hand-over was not tried again', error),
    onSettled: () => queries.invalidateQueries({ queryKey }),
  });
  if (!data || data.why === null) return null;
  return (
    <div className={classes.row} role="status">
      <span>The hand-over to the switches {outcomeText(data.why, data.given_up)}</span>
      {data.given_up && mayOperate && (
        <Button variant="subtle" loading={retry.isPending} onClick={() => retry.mutate()}>
          Try again
        </Button>
      )}
    </div>
  );
}

function outcomeText(why: string, given_up: boolean): string {
  const said = why.replace(/\.+$/, '');
  if (given_up) return `was given up: ${said.replace(/^refused: /, '')}.`;
  return said.startsWith('refused: ') ? `was ${said}.` : `waits: ${said}.`;
}
