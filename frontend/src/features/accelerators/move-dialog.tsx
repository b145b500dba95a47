import { Button } from '@mantine/core';
import type { Accelerator, ReconfigurationRequest } from '@orrery/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { nfKey } from '../../shared/api/chains.js';
import { call } from '../../shared/api/client.js';
import { canMove, MovePreview, useMovePlans } from '../../shared/plan/move-plan.js';
import { FormDialog } from '../../shared/ui/form-dialog.js';
import { FormTrouble } from '../../shared/ui/form-trouble.js';
import { draftOf, inTheWay, type MoveDraft, type MoveStart, moveRequest, waysOf } from './move-draft.js';
import { MoveFields } from './move-fields.js';
import { type BoardNf, slotText } from './nfs.js';

interface MoveDialogProps {
  readonly start: MoveStart;
  readonly boards: readonly Accelerator[];
  readonly nfs: readonly BoardNf[];
  readonly onClose: () => void;
  /** The move is in progress. */
  readonly onStarted: (reconfigurationId: string) => void;
}

/** Moves an NF to a board or back to software: first the request, then its plan, and only then the move. */
export default function MoveDialog({ start, boards, nfs, onClose, onStarted }: MoveDialogProps) {
  const [draft, setDraft] = useState(() => draftOf(start, nfs));
  const queries = useQueryClient();
  const request = moveRequest(draft, nfs);
  const plans = useMovePlans(request && waysOf(request, nfs));
  const movable = request !== null && canMove(plans);
  const apply = useMutation({
    mutationFn: (body: ReconfigurationRequest) =>
      call('createReconfiguration', { body }, { idempotencyKey: crypto.randomUUID() }),
    onSuccess: (reconfiguration) => {
      void queries.invalidateQueries({ queryKey: ['reconfigurations'] });
      onStarted(reconfiguration.id);
    },
  });
  const change = (next: Partial<MoveDraft>) => {
    apply.reset();
    setDraft((before) => {
      const after = { ...before, ...next };
      if (next.displaces || after.to === 'software') return after;
      return { ...after, displaces: inTheWay(nfs, after).map(nfKey) };
    });
  };
  const toBoard = start.to === 'board';
  return (
    <FormDialog
      size={720}
      title={toBoard ? `Program ${start.slot ? slotText(start.slot) : 'a slot'}` : `Move ${start.nf.id} to software`}
      onClose={onClose}
      onSubmit={() => movable && apply.mutate(request)}
      trouble={<FormTrouble error={apply.error} shown={['/nf', '/slot', '/displaces']} />}
      action={
        <Button type="submit" loading={apply.isPending} disabled={!movable}>
          {toBoard ? 'Program' : 'Move to software'}
        </Button>
      }
    >
      {toBoard && (
        <MoveFields
          draft={draft}
          anySlot={start.slot === null}
          boards={boards}
          nfs={nfs}
          error={apply.error}
          onChange={change}
        />
      )}
      <MovePreview
        query={plans}
        first={request === null ? 'Choose an NF to see what the move would do.' : null}
        headings={['First, make room', 'Then load the slot']}
      />
    </FormDialog>
  );
}
