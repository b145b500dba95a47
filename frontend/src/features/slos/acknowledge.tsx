import { Button, Popover, TextInput } from '@mantine/core';
import type { SloAlert } from '@orrery/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { call } from '../../shared/api/client.js';
import { useMay } from '../../shared/api/session.js';
import { notifyError } from '../../shared/ui/notify.js';

const MOST_CHARACTERS = 400;

/** Says that somebody takes care of an alert; once that is said, who and what. */
export function Acknowledge({ alert: { id, slo_id, acknowledged } }: { readonly alert: SloAlert }) {
  const [open, setOpen] = useState(false);
  const [note, setNote] = useState('');
  const mayOperate = useMay('operator');
  const client = useQueryClient();
  const send = useMutation({
    mutationFn: () => call('acknowledgeSloAlert', { params: { id }, body: { note } }),
    onSuccess: () => setOpen(false),
    onError: (error) => notifyError(`The alert about ${slo_id} was not acknowledged`, error),
    onSettled: () => client.invalidateQueries({ queryKey: ['slos'] }),
  });
  if (acknowledged)
    return (
      <span className="muted">
        Acknowledged by {acknowledged.by}
        {acknowledged.note && `: ${acknowledged.note}`}
      </span>
    );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    send.mutate();
  };
  return (
    <Popover opened={open} onChange={setOpen} trapFocus returnFocus withArrow shadow="md" width={280}>
      <Popover.Target>
        <Button
          size="compact-xs"
          variant="default"
          aria-label={`Acknowledge the alert about ${slo_id}`}
          disabled={!mayOperate}
          title={mayOperate ? undefined : 'Needs the role operator'}
          onClick={() => setOpen(!open)}
        >
          Acknowledge
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label="Acknowledge">
        <form onSubmit={submit}>
          <TextInput
            label="Note"
            data-autofocus
            maxLength={MOST_CHARACTERS}
            value={note}
            onChange={({ currentTarget }) => setNote(currentTarget.value)}
          />
          <Button type="submit" size="compact-sm" mt="xs" loading={send.isPending}>
            Acknowledge
          </Button>
        </form>
      </Popover.Dropdown>
    </Popover>
  );
}
