import { Button, TextInput } from '@mantine/core';
import type { Accelerator } from '@orrery/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../shared/api/client.js';
import { FormDialog } from '../../shared/ui/form-dialog.js';
import { FormTrouble, fieldErrorOf } from '../../shared/ui/form-trouble.js';
import { notifyError } from '../../shared/ui/notify.js';

/** Maximum length of a reason. */
const REASON_CHARACTERS = 120;

interface ReserveProps {
  readonly board: Accelerator;
  readonly slot: Accelerator['slots'][number];
}

/** Reserves a slot for plans that name it, with a reason visible to everybody, or releases it. */
export function ReserveButton({ board, slot }: ReserveProps) {
  const [asking, setAsking] = useState(false);
  const queries = useQueryClient();
  const reserved = slot.reservation !== null;
  const release = useMutation({
    mutationFn: () => {
      const ifMatch = slot.reservation ? { ifMatch: `"${slot.reservation.since_ms}"` } : {};
      return call('releaseSlot', { params: { id: board.id, slot: slot.slot } }, ifMatch);
    },
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
        title={
          reserved ? 'Release the slot for planning' : 'Reserve the slot: plans use it only when a request names it'
        }
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
        description="Plans use the slot only when a request names it. Everyone can see who reserved it, and why."
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
