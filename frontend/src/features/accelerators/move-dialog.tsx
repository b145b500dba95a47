import { Button, Group, Modal, MultiSelect, SegmentedControl, Select } from '@mantine/core';
import type { Accelerator, LoadKind, LoadPolicy, Plan, ReconfigurationRequest } from '@orrery/contract';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useId, useState } from 'react';
import { useChainTitle } from '../../shared/api/chains.js';
import { call } from '../../shared/api/client.js';
import { PlanChanges } from '../../shared/plan/plan-changes.js';
import { constraintText, remedyText, sentence } from '../../shared/plan/plan-text.js';
import { Predictions } from '../../shared/plan/predictions.js';
import { FormTrouble, fieldErrorOf } from '../../shared/ui/form-trouble.js';
import { LoadingRows } from '../../shared/ui/states.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import classes from './accelerators.module.css';
import type { MoveStart } from './board-panel.js';
import { choicesOf, inTheWay, type MoveDraft, moveRequest, slotValue } from './move-draft.js';
import { type BoardNf, nfKey, slotText } from './nfs.js';

export const LOADS: { value: LoadKind; label: string; says: string }[] = [
  { value: 'partial', label: 'Partial', says: 'Replaces this slot; the other slots of the board go on.' },
  { value: 'full', label: 'Full', says: 'Replaces the whole board: every slot and its links are down meanwhile.' },
];
export const POLICIES: { value: LoadPolicy; label: string; says: string }[] = [
  { value: 'hold', label: 'Hold', says: 'Frames that reach the slot wait in the port.' },
  { value: 'drop', label: 'Drop', says: 'Frames that reach the slot are dropped and counted.' },
  { value: 'bypass', label: 'Bypass', says: 'Frames pass untreated.' },
];

interface MoveDialogProps {
  readonly start: MoveStart;
  readonly boards: readonly Accelerator[];
  readonly nfs: readonly BoardNf[];
  readonly onClose: () => void;
  /** The move is under way. */
  readonly onStarted: (reconfigurationId: string) => void;
}

function draftOf(start: MoveStart, nfs: readonly BoardNf[]): MoveDraft {
  const base = { load: 'partial', policy: 'hold' } as const;
  if (start.to === 'software') return { ...base, to: 'software', nf: nfKey(start.nf), slot: '', displaces: [] };
  const slot = slotValue(start);
  const displaces = inTheWay(nfs, { nf: '', slot, load: base.load }).map(nfKey);
  return { ...base, to: 'board', nf: '', slot, displaces };
}

/** Moves an NF onto a board or back to software: what is asked for, the plan of it, and only then the move. */
export default function MoveDialog({ start, boards, nfs, onClose, onStarted }: MoveDialogProps) {
  const [draft, setDraft] = useState(() => draftOf(start, nfs));
  const queries = useQueryClient();
  const request = moveRequest(draft, nfs);
  const asked = JSON.stringify(request);
  const plan = useQuery({
    queryKey: ['move-plan', asked],
    enabled: request !== null,
    staleTime: 0,
    gcTime: 0,
    retry: false,
    queryFn: ({ signal }) => plansOf(request!, signal),
  });
  const plans = plan.data ?? [];
  const feasible = plans.length > 0 && plans.every((each) => each.feasible);
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
  return (
    <Modal
      opened
      onClose={onClose}
      size={720}
      centered
      title={start.to === 'board' ? `Program ${slotText(start)}` : `Move ${start.nf.id} to software`}
    >
      <form
        className={classes.form}
        onSubmit={(event) => {
          event.preventDefault();
          if (request && feasible) apply.mutate(request);
        }}
      >
        {draft.to === 'board' && (
          <BoardFields draft={draft} boards={boards} nfs={nfs} error={apply.error} onChange={change} />
        )}
        <section className={classes.preview} aria-label="Plan of the move" aria-live="polite">
          {request === null ? (
            <p className="muted">Choose an NF to see what the move would do.</p>
          ) : plan.isFetching ? (
            <LoadingRows rows={4} />
          ) : plan.error ? (
            <FormTrouble error={plan.error} shown={[]} />
          ) : (
            plans.map((each, i) => (
              <section key={each.id}>
                {plans.length > 1 && <h3>{i === 0 ? 'First, room is made' : 'Then the slot is loaded'}</h3>}
                <MovePlan plan={each} />
              </section>
            ))
          )}
        </section>
        <FormTrouble error={apply.error} shown={['/nf', '/slot', '/displaces']} />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button
            type="submit"
            loading={apply.isPending}
            disabled={!feasible || plan.isFetching || plans.every(({ steps }) => steps.length === 0)}
          >
            {draft.to === 'board' ? 'Program' : 'Move to software'}
          </Button>
        </Group>
      </form>
    </Modal>
  );
}

/** The plans of a move, each on top of the one before; up to the first that is not feasible. */
async function plansOf(request: ReconfigurationRequest, signal: AbortSignal): Promise<Plan[]> {
  const plans: Plan[] = [];
  for (const implementations of choicesOf(request)) {
    const before = plans.at(-1);
    const body = { implementations, ...(before && { on_top_of: before.id }) };
    plans.push(await call('createPlan', { body }, { signal, idempotencyKey: crypto.randomUUID() }));
    if (!plans.at(-1)!.feasible) break;
  }
  return plans;
}

interface BoardFieldsProps extends Pick<MoveDialogProps, 'boards' | 'nfs'> {
  readonly draft: MoveDraft;
  readonly error: unknown;
  readonly onChange: (change: Partial<MoveDraft>) => void;
}

function BoardFields({ draft, boards, nfs, error, onChange }: BoardFieldsProps) {
  const nfLabel = useNfLabel();
  const board = boards.find(({ id }) => draft.slot.startsWith(`${id} `));
  const modules = board?.description?.modules;
  const choices = nfs.map((nf) => ({
    value: nfKey(nf),
    label: nfLabel(nf),
    // What the board has no bitstream for cannot be chosen.
    disabled: modules !== undefined && !modules.includes(nf.nf),
  }));
  return (
    <>
      <Select
        label="NF"
        data-autofocus
        placeholder={nfs.length === 0 ? 'No chain that runs has one' : 'NF of a deployed chain'}
        data={choices}
        value={draft.nf || null}
        error={fieldErrorOf(error, '/nf')}
        onChange={(nf) => onChange({ nf: nf ?? '' })}
      />
      <div className={classes.pair}>
        <Choice label="Load" choices={LOADS} value={draft.load} onChange={(load) => onChange({ load })} />
        <Choice
          label="Frames during the load"
          choices={POLICIES}
          value={draft.policy}
          onChange={(policy) => onChange({ policy })}
        />
      </div>
      <MultiSelect
        label="Displaces"
        description="NFs that move to software to make room."
        placeholder={draft.displaces.length === 0 ? 'Nothing' : undefined}
        data={nfs
          .filter((nf) => nf.slot && nfKey(nf) !== draft.nf)
          .map((nf) => ({ value: nfKey(nf), label: nfLabel(nf) }))}
        value={[...draft.displaces]}
        error={fieldErrorOf(error, '/displaces') ?? fieldErrorOf(error, '/slot')}
        onChange={(displaces) => onChange({ displaces })}
      />
    </>
  );
}

/** An NF as it stands in a list: name, chain, and where it runs. */
export function useNfLabel(): (nf: BoardNf) => string {
  const titleOf = useChainTitle();
  return (nf) =>
    `${nf.node_id === nf.nf ? nf.nf : `${nf.node_id} (${nf.nf})`} of ${titleOf(nf.pipeline_id)}, ${nf.slot ? `on ${slotText(nf.slot)}` : 'in software'}`;
}

interface ChoiceProps<T extends string> {
  readonly label: ReactNode;
  readonly choices: readonly { readonly value: T; readonly label: string; readonly says: string }[];
  readonly value: T;
  readonly onChange: (value: T) => void;
}

/** A choice of a few, with what the chosen one means. */
export function Choice<T extends string>({ label, choices, value, onChange }: ChoiceProps<T>) {
  const id = useId();
  return (
    <div className={classes.choice}>
      <span id={id}>{label}</span>
      <SegmentedControl
        fullWidth
        aria-labelledby={id}
        data={choices.map((choice) => ({ value: choice.value, label: choice.label }))}
        value={value}
        onChange={(next) => onChange(next as T)}
      />
      <p className={classes.hint}>{choices.find((choice) => choice.value === value)?.says}</p>
    </div>
  );
}

/** What a plan would do and what it expects of objectives; why not, where it is not feasible. */
function MovePlan({ plan }: { readonly plan: Plan }) {
  return (
    <>
      <p className={classes.verdict} role="status">
        <StatusBadge state={plan.feasible ? 'ok' : 'failed'} label={plan.feasible ? 'feasible' : 'not feasible'} />
      </p>
      {plan.conflicts.length + plan.problems.length > 0 && (
        <ul className={classes.conflicts}>
          {plan.conflicts.map((conflict) => (
            <li key={`${conflict.constraint}${conflict.where}${conflict.needed}`}>
              {constraintText(conflict)}. <span className="muted">{remedyText(conflict)}</span>
            </li>
          ))}
          {plan.problems.map((problem) => (
            <li key={`${problem.pipeline_id}${problem.pointer}`}>{sentence(problem.message)}</li>
          ))}
        </ul>
      )}
      {plan.feasible && (
        <>
          <PlanChanges plan={plan} />
          {plan.slos.length > 0 && (
            // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
            <section className={classes.scrolls} tabIndex={0} aria-label="Predicted objectives">
              <Predictions slos={plan.slos} />
            </section>
          )}
        </>
      )}
    </>
  );
}
