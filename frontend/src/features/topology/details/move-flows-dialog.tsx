import { Button, NativeSelect, Switch, TextInput } from '@mantine/core';
import type { MigrateRequest, NfInstance, Operation, PlannedSplit } from '@orrery/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError, call } from '../../../shared/api/client.js';
import { useOperation } from '../../../shared/api/queries.js';
import { countText } from '../../../shared/format/number.js';
import { quantityText } from '../../../shared/format/quantity.js';
import { Facts } from '../../../shared/ui/detail-panel.js';
import { FormDialog } from '../../../shared/ui/form-dialog.js';
import { FormTrouble, fieldErrorOf } from '../../../shared/ui/form-trouble.js';
import { Reason } from '../../../shared/ui/reason.js';
import { ALL_FLOWS, draftFieldAt, type FlowDraft, readFlowDraft } from './flow-draft.js';
import classes from './move-flows.module.css';

interface MoveFlowsDialogProps {
  readonly from: NfInstance;
  /** Other instances of the NF, at least one. */
  readonly targets: readonly NfInstance[];
  /** What splits the flows of the NF; null: nothing. */
  readonly split: PlannedSplit | null;
  /** Opens the editor of its ranges in place of this dialog; null: they cannot be changed. */
  readonly onChangeRanges: (() => void) | null;
  readonly onClose: () => void;
}

const PROTOCOLS = [
  { value: '', label: 'any' },
  { value: '6', label: 'TCP' },
  { value: '17', label: 'UDP' },
  { value: '1', label: 'ICMP' },
  { value: '58', label: 'ICMPv6' },
];

/** Moves flows of an instance to another: first which and how many, then the move, then what came of it. */
export default function MoveFlowsDialog({ from, targets, split, onChangeRanges, onClose }: MoveFlowsDialogProps) {
  // A switch cannot send single flows elsewhere: what remains is a copy of their state.
  const canSteer = split?.at !== 'switch';
  const [to, setTo] = useState(targets[0]!.id);
  const [draft, setDraft] = useState(ALL_FLOWS);
  const [steer, setSteer] = useState(canSteer);
  const [release, setRelease] = useState(canSteer);
  const queries = useQueryClient();
  const { flows, errors } = readFlowDraft(draft, split?.key);
  const request: MigrateRequest = { to, flows, steer, release };
  const params = { id: from.id };
  const preview = useMutation({
    mutationFn: (body: MigrateRequest) => call('previewMigration', { params, body }),
  });
  const move = useMutation({
    mutationFn: (body: MigrateRequest) =>
      call('migrateNfInstance', { params, body }, { idempotencyKey: crypto.randomUUID() }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['operations'] }),
  });
  /** Sets one field; what was counted for others is no longer shown. */
  const edit =
    <T,>(set: (value: T) => void) =>
    (value: T) => {
      preview.reset();
      move.reset();
      set(value);
    };
  const editDraft = edit(setDraft);
  const refusal = preview.error ?? move.error;
  const refused = refusal instanceof ApiError ? refusal.errors : [];
  const refusedAt = (name: keyof FlowDraft) =>
    refused.find(({ pointer }) => draftFieldAt(pointer, flows) === name)?.detail;
  const shown = refused.map(({ pointer }) => pointer).filter((pointer) => isShown(draftFieldAt(pointer, flows), split));
  const text = (name: keyof FlowDraft, label: string, placeholder: string, description?: string) => (
    <TextInput
      label={label}
      description={description}
      inputWrapperOrder={['label', 'input', 'description', 'error']}
      placeholder={placeholder}
      value={draft[name]}
      error={errors[name] ?? refusedAt(name)}
      onChange={({ currentTarget: { value } }) => editDraft({ ...draft, [name]: value })}
    />
  );
  const counted = preview.data;
  const isWrong = Object.keys(errors).length > 0;
  if (move.data) return <MoveProgress from={from.id} to={to} operationId={move.data.id} onClose={onClose} />;
  return (
    <FormDialog
      size={640}
      title={`Move flows of ${from.id}`}
      onClose={onClose}
      onSubmit={() => !isWrong && (counted ? move : preview).mutate(request)}
      trouble={<Refused error={refusal} shown={shown} onChangeRanges={canSteer ? onChangeRanges : null} />}
      action={
        <Button
          type="submit"
          loading={preview.isPending || move.isPending}
          disabled={isWrong || (counted !== undefined && counted.flows === 0)}
        >
          {counted ? (steer ? 'Move flows' : 'Copy their state') : steer ? 'Show what moves' : 'Show what is copied'}
        </Button>
      }
    >
      {split && !canSteer && (
        <section className={classes.instead} aria-label="Another way">
          <p>
            Switches split the flows of {split.node_id} by ranges of a hash, and send no single flow elsewhere. To move
            flows with their packets, change the ranges. From here, only their state can be copied to another instance.
          </p>
          <ChangeRanges onClick={onChangeRanges} />
        </section>
      )}
      <NativeSelect
        label="To the instance"
        value={to}
        data={targets.map(({ id, server }) => ({ value: id, label: `${id} on ${server}` }))}
        onChange={({ currentTarget: { value } }) => edit(setTo)(value)}
      />
      <fieldset className={classes.flows}>
        <legend>Which flows; an empty field matches all</legend>
        {text('src', 'From address or prefix', '10.0.1.0/24')}
        {text('dst', 'To address or prefix', '10.0.2.0/24')}
        {text('srcPorts', 'From port or range', '1024-65535')}
        {text('dstPorts', 'To port or range', '80')}
        <NativeSelect
          label="Protocol"
          value={draft.proto}
          data={PROTOCOLS}
          error={refusedAt('proto')}
          onChange={({ currentTarget: { value } }) => editDraft({ ...draft, proto: value })}
        />
        {split &&
          text(
            'hash',
            'Range of the hash',
            rangeText(split, from.id),
            `Hash of ${split.key.join(', ')}, from 0 to 65536; the end is not included`,
          )}
      </fieldset>
      <Switch
        label="Send their packets to the other instance"
        description={
          canSteer
            ? 'Their packets wait for some milliseconds while the last of their state is copied.'
            : 'Switches send packets by ranges only.'
        }
        checked={steer}
        disabled={!canSteer}
        onChange={({ currentTarget: { checked } }) => edit(setSteer)(checked)}
      />
      <Switch
        label={`Remove them from ${from.id} once they have moved`}
        checked={release}
        onChange={({ currentTarget: { checked } }) => edit(setRelease)(checked)}
      />
      <section className={classes.preview} aria-label="What moves" aria-live="polite">
        {counted ? (
          <p role="status">
            {counted.flows === 0
              ? 'No flow of this instance is selected.'
              : `${counted.complete ? '' : 'More than '}${countText(counted.flows)} ${counted.flows === 1 ? 'flow' : 'flows'} with ${quantityText('bytes', counted.bytes)} of state would ${steer ? 'move' : 'be copied'} to ${to} now, while traffic runs.`}
          </p>
        ) : (
          <p className="muted">How many flows move is shown here before anything is changed.</p>
        )}
      </section>
    </FormDialog>
  );
}

function ChangeRanges({ onClick }: { readonly onClick: (() => void) | null }) {
  return (
    <Reason of={onClick ? null : 'The chain is being changed.'}>
      <Button variant="default" disabled={!onClick} onClick={() => onClick?.()}>
        Change ranges…
      </Button>
    </Reason>
  );
}

interface RefusedProps {
  readonly error: Error | null;
  /** Pointers of what is told at its field. */
  readonly shown: readonly string[];
  readonly onChangeRanges: (() => void) | null;
}

/** Whether the dialog has the field: that of the hash only where flows are split. */
function isShown(field: keyof FlowDraft | null, split: PlannedSplit | null): boolean {
  return field !== null && (field !== 'hash' || split !== null);
}

/** Why the move was refused. What the split is in the way of may be done by its ranges. */
function Refused({ error, shown, onChangeRanges }: RefusedProps) {
  return (
    <>
      <FormTrouble error={error} shown={shown} />
      {fieldErrorOf(error, '/steer') && onChangeRanges && <ChangeRanges onClick={onChangeRanges} />}
    </>
  );
}

/** The range of an instance, as it is typed. */
function rangeText({ targets }: PlannedSplit, id: string): string {
  const range = targets.find(({ instance_id }) => instance_id === id)?.range;
  return range ? `${range.lo}-${range.hi}` : '0-16384';
}

interface MoveProgressProps {
  readonly from: string;
  readonly to: string;
  readonly operationId: string;
  readonly onClose: () => void;
}

const OUTCOMES: Readonly<Record<string, string>> = {
  PROCESSING: 'Flows are being moved.',
  COMPLETED: 'All selected flows have moved.',
  PARTIALLY_COMPLETED: 'Some flows have moved.',
  ROLLED_BACK: 'The move was cancelled.',
  FAILED: 'No flow was moved.',
};

/** In words that hold also where replies were lost: its error says then what is not known. */
function outcomeText({ state, migration }: Pick<Operation, 'state' | 'migration'>): string {
  const moved = (migration?.steered ?? 0) + (migration?.released ?? 0);
  if (state === 'FAILED' && (migration?.at_least || moved > 0)) return 'The move failed.';
  if (state === 'PARTIALLY_COMPLETED' && migration?.at_least && moved === 0) return 'Some flows may have moved.';
  if (state === 'COMPLETED' && migration && !migration.steer)
    return `The state of all selected flows was copied. Their packets go where they went before${migration.release ? ', and it was removed there' : ''}.`;
  return OUTCOMES[state] ?? OUTCOMES.PROCESSING!;
}

const STEP_WORDS = {
  pending: 'waits',
  running: 'runs',
  done: 'done',
  failed: 'failed',
  skipped: 'left out',
  undone: 'taken back',
} as const;

function MoveProgress({ from, to, operationId, onClose }: MoveProgressProps) {
  const { data: operation, error } = useOperation(operationId);
  const cancel = useMutation({ mutationFn: () => call('cancelOperation', { params: { id: operationId } }) });
  const isRunning = operation?.state === 'PROCESSING';
  const { migration } = operation ?? {};
  const least = migration?.at_least ? 'at least ' : '';
  const leastText = (count: number) => `${least}${countText(count)}`;
  return (
    <FormDialog
      size={640}
      title={`Move flows of ${from} to ${to}`}
      onClose={onClose}
      onSubmit={() => (isRunning ? cancel.mutate() : onClose())}
      trouble={<FormTrouble error={error ?? cancel.error} shown={[]} />}
      action={
        <Button type="submit" loading={cancel.isPending} disabled={!operation}>
          {isRunning ? 'Stop the move' : 'Close'}
        </Button>
      }
      dismiss={isRunning ? 'Hide' : null}
    >
      <p role="status">{operation ? outcomeText(operation) : OUTCOMES.PROCESSING}</p>
      {operation?.error && (
        <p className={classes.trouble} role="alert">
          {operation.error.detail}
        </p>
      )}
      <ol className={classes.steps} aria-label="Steps">
        {operation?.steps.map(({ ordinal, summary, state }) => (
          <li key={ordinal} data-state={state}>
            {summary} <span className="muted">{STEP_WORDS[state]}</span>
          </li>
        ))}
      </ol>
      {migration && (
        <Facts
          items={[
            ['Flows copied', leastText(migration.copied)],
            ['Copied again', leastText(migration.renewed)],
            ...(migration.steer
              ? ([
                  ['Sent to the other instance', leastText(migration.steered)],
                  ['Packets that waited', countText(migration.waited)],
                ] as const)
              : []),
            ...(migration.release ? ([[`Removed from ${from}`, leastText(migration.released)]] as const) : []),
            ['State sent', `${least}${quantityText('bytes', migration.bytes)}`],
          ]}
        />
      )}
    </FormDialog>
  );
}
