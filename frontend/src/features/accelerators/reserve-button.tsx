import { Button, TextInput } from '@mantine/core';
import type { Accelerator } from '@orrery/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../shared/api/client.js';
import { FormDialog } from '../../shared/ui/form-dialog.js';
import { FormTrouble, fieldErrorOf } from '../../shared/ui/form-trouble.js';
import { notifyError } from '../../shared/ui/notify.js';

/** As long as a reason may be. */
const REASON_CHARACTERS = 120;

interface ReserveProps {
  readonly board: Accelerator;
  readonly slot: Accelerator['slots'][number];
}

/** Keeps a slot from plans that do not name it, for a reason that everybody sees, or gives it back. */
export function ReserveButton({ board, slot }: ReserveProps) {
  const [asking, setAsking] = useState(false);
  const queries = useQueryClient();
  const reserved = slot.reservation !== null;
  const release = useMutation({
    mutationFn: () => call('releaseSlot', { params: { id: board.id, slot: slot.slot } }),
    onError: (error) => notifyError('The slot was not released', error),
    onSettled: () => queries.invalidateQueries({ queryKey: ['accelerators'] }),
  });
  const word = reserved ? 'Release' : 'Reserve';
  return (
    <>
      <Button
        variant="default"
        size="compact-xs"
        loading={release.isPending}
        title={reserved ? 'Let plans use the slot again' : 'Keep the slot from being used by plans that do not name it'}
        aria-label={`${word} slot ${slot.slot} of ${board.title}`}
        onClick={() => (reserved ? release.mutate() : setAsking(true))}
      >
        {word}
      </Button>
      {asking && <ReserveDialog board={board} slot={slot} onClose={() => setAsking(false)} />}
    </>
  );
}

function ReserveDialog({ board, slot, onClose }: ReserveProps & { readonly onClose: () => void }) {
  const [reason, setReason] = useState('');
  const queries = useQueryClient();
  const reserve = useMutation({
    mutationFn: () =>
      call('reserveSlot', { params: { id: board.id, slot: slot.slot }, body: { reason: reason.trim() } }),
    onSuccess: onClose,
    onSettled: () => queries.invalidateQueries({ queryKey: ['accelerators'] }),
  });
  return (
    <FormDialog
      size={440}
      title={`Reserve slot ${slot.slot} of ${board.title}`}
      onClose={onClose}
      onSubmit={() => reserve.mutate()}
      trouble={<FormTrouble error={reserve.error} shown={['/reason']} />}
      action={
        <Button type="submit" loading={reserve.isPending}>
          Reserve
        </Button>
      }
    >
      <TextInput
        label="Reason"
        description="Plans that do not name the slot leave it alone. Everybody sees who reserved it, and why."
        placeholder="Optional, e.g. firmware test"
        data-autofocus
        maxLength={REASON_CHARACTERS}
        value={reason}
        error={fieldErrorOf(reserve.error, '/reason')}
        onChange={(event) => setReason(event.currentTarget.value)}
      />
    </FormDialog>
  );
}
