import { Button, Checkbox, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import type { MaintenanceChange } from '@orrery/contract';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type ChainTitle, useChainTitle } from '../api/chains.js';
import { call } from '../api/client.js';
import { StoredPlan } from '../plan/move-plan.js';
import { useFocusReturn } from '../ui/focus-return.js';
import { notifyDone, notifyError } from '../ui/notify.js';
import { Reason } from '../ui/reason.js';
import { DisturbedScenarios } from './disturbed-scenarios.js';
import { LeftOut } from './left-out.js';

interface DrainDialogProps {
  readonly node: string;
  readonly onClose: () => void;
}

/** Shows what draining a server or board would do, and does it. */
export function DrainDialog({ node, onClose }: DrainDialogProps) {
  useFocusReturn();
  const queries = useQueryClient();
  const titleOf = useChainTitle();
  const [reason, setReason] = useState('');
  const [force, setForce] = useState(false);
  const ask = (body: { reason: string; force: boolean; dry_run: boolean }) =>
    call('beginMaintenance', { params: { id: node }, body });
  const preview = useQuery({
    queryKey: ['out-of-service', 'preview', node, force],
    queryFn: () => ask({ reason: 'preview', force, dry_run: true }),
    retry: false,
    staleTime: 0,
  });
  const drain = useMutation({
    mutationFn: () => ask({ reason: reason.trim(), force, dry_run: false }),
    onSuccess: () => {
      notifyDone(`${node} is in maintenance.`);
      onClose();
    },
    onError: (error) => notifyError(`${node} was not drained`, error),
    onSettled: () => queries.invalidateQueries({ queryKey: ['out-of-service'] }),
  });
  const obstacle =
    reason.trim() === ''
      ? 'The reason must be given'
      : preview.data
        ? null
        : preview.error
          ? preview.error.message
          : 'What would move is being planned';
  return (
    <Modal opened onClose={onClose} size={760} centered title={`Drain ${node}`}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (obstacle === null) drain.mutate();
        }}
      >
        <Stack gap="sm">
          <Text size="sm">What runs on {node} moves, and no plan uses it until it is back in service.</Text>
          <DisturbedScenarios node={node} used={preview.data?.chains ?? []} titleOf={titleOf} />
          <TextInput
            data-autofocus
            label="Reason"
            required
            maxLength={200}
            value={reason}
            onChange={({ currentTarget }) => setReason(currentTarget.value)}
          />
          <Checkbox
            label="Take down chains of the lowest priority for it, where the others have too little room"
            checked={force}
            onChange={({ currentTarget }) => setForce(currentTarget.checked)}
          />
          <div aria-live="polite">
            {preview.isPending && <Text size="sm">Planning…</Text>}
            {preview.error && (
              <Text size="sm" c="red">
                {preview.error.message}
              </Text>
            )}
            {preview.data && <Preview change={preview.data} titleOf={titleOf} />}
          </div>
          {preview.data?.plan_id && (
            <details>
              <summary>Steps and predicted objectives</summary>
              <StoredPlan id={preview.data.plan_id} />
            </details>
          )}
          <Group gap="xs" justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Reason of={obstacle}>
              <Button type="submit" disabled={obstacle !== null} loading={drain.isPending}>
                Drain
              </Button>
            </Reason>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

interface PreviewProps {
  readonly change: MaintenanceChange;
  readonly titleOf: ChainTitle;
}

function Preview({ change: { moves, not_kept, warnings }, titleOf }: PreviewProps) {
  if (moves.length + not_kept.length + warnings.length === 0) return <Text size="sm">Nothing runs there.</Text>;
  return (
    <ul>
      {moves.map(({ instance, from, to }) => (
        <li key={instance}>
          {instance} moves from {from} to {to}.
        </li>
      ))}
      <LeftOut notKept={not_kept} titleOf={titleOf} />
      {warnings.map((warning) => (
        <li key={warning}>Warning: {warning}.</li>
      ))}
    </ul>
  );
}
