import { Button, MultiSelect, Select } from '@mantine/core';
import type { Accelerator, ReconfigurationRequest } from '@orrery/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { nfKey, useChainTitle } from '../../shared/api/chains.js';
import { call } from '../../shared/api/client.js';
import { canMove, MovePreview, useMovePlans } from '../../shared/plan/move-plan.js';
import { Choice } from '../../shared/ui/choice.js';
import { FormDialog } from '../../shared/ui/form-dialog.js';
import { FormTrouble, fieldErrorOf } from '../../shared/ui/form-trouble.js';
import classes from './accelerators.module.css';
import { LOADS, POLICIES } from './load-choices.js';
import {
  displaceable,
  draftOf,
  inTheWay,
  type MoveDraft,
  type MoveStart,
  moveRequest,
  parseSlot,
  slotValue,
  waysOf,
} from './move-draft.js';
import { type BoardNf, slotText, whereText } from './nfs.js';

interface MoveDialogProps {
  readonly start: MoveStart;
  readonly boards: readonly Accelerator[];
  readonly nfs: readonly BoardNf[];
  readonly onClose: () => void;
  /** The move is under way. */
  readonly onStarted: (reconfigurationId: string) => void;
}

/** Moves an NF onto a board or back to software: what is asked for, the plan of it, and only then the move. */
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
        <BoardFields
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
        headings={['First, room is made', 'Then the slot is loaded']}
      />
    </FormDialog>
  );
}

interface BoardFieldsProps extends Pick<MoveDialogProps, 'boards' | 'nfs'> {
  readonly draft: MoveDraft;
  /** The slot is not given; it can be chosen. */
  readonly anySlot: boolean;
  readonly error: unknown;
  readonly onChange: (change: Partial<MoveDraft>) => void;
}

function BoardFields({ draft, anySlot, boards, nfs, error, onChange }: BoardFieldsProps) {
  const nfLabel = useNfLabel();
  const board = boards.find(({ id }) => id === parseSlot(draft.slot)?.board);
  const modules = board?.description?.modules;
  const room = displaceable(nfs, draft);
  const choices = nfs.map((nf) => ({
    value: nfKey(nf),
    label: nfLabel(nf),
    // What the board has no bitstream for cannot be chosen.
    disabled: modules !== undefined && !modules.includes(nf.nf),
  }));
  return (
    <>
      <div className={anySlot ? classes.pair : undefined}>
        <Select
          label="NF"
          data-autofocus
          placeholder={nfs.length === 0 ? 'No chain that runs has one' : 'NF of a deployed chain'}
          data={choices}
          value={draft.nf || null}
          error={fieldErrorOf(error, '/nf')}
          onChange={(nf) => onChange({ nf: nf ?? '' })}
        />
        {anySlot && (
          <Select
            label="Slot"
            placeholder={boards.length === 0 ? 'There is no board' : 'The one that fits most closely'}
            clearable
            data={slotChoices(boards)}
            value={draft.slot || null}
            error={fieldErrorOf(error, '/slot')}
            onChange={(slot) => onChange({ slot: slot ?? '' })}
          />
        )}
      </div>
      <div className={classes.pair}>
        <Choice label="Load" choices={LOADS} value={draft.load} onChange={(load) => onChange({ load })} />
        {draft.load === 'partial' && (
          <Choice
            label="Frames during the load"
            choices={POLICIES}
            value={draft.policy}
            onChange={(policy) => onChange({ policy })}
          />
        )}
      </div>
      <MultiSelect
        label="Displaces"
        description="NFs that move to software to make room."
        placeholder={draft.displaces.length === 0 ? 'Nothing' : undefined}
        data={room.map((nf) => ({ value: nfKey(nf), label: nfLabel(nf) }))}
        value={draft.displaces.filter((key) => room.some((nf) => nfKey(nf) === key))}
        error={fieldErrorOf(error, '/displaces') ?? (anySlot ? undefined : fieldErrorOf(error, '/slot'))}
        onChange={(displaces) => onChange({ displaces })}
      />
    </>
  );
}

/** Every slot that there is, for a list to choose from. */
export function slotChoices(boards: readonly Accelerator[]) {
  return boards.flatMap(({ id, slots }) =>
    slots.map(({ slot }) => ({ value: slotValue({ board: id, slot }), label: slotText({ board: id, slot }) })),
  );
}

/** An NF as it stands in a list: name, chain, and where it runs. */
export function useNfLabel(): (nf: BoardNf) => string {
  const titleOf = useChainTitle();
  return (nf) =>
    `${nf.node_id === nf.nf ? nf.nf : `${nf.node_id} (${nf.nf})`} of ${titleOf(nf.pipeline_id)}, ${nf.slot ? `on ${slotText(nf.slot)}` : `in ${whereText(nf)}`}`;
}
