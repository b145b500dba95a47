import { Button, MultiSelect, NumberInput, Select, Switch, TextInput } from '@mantine/core';
import type { Accelerator, ReconfigurationPolicy } from '@orrery/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { nfKey } from '../../shared/api/chains.js';
import { call } from '../../shared/api/client.js';
import { Choice } from '../../shared/ui/choice.js';
import { FormDialog } from '../../shared/ui/form-dialog.js';
import { FormTrouble, fieldErrorOf } from '../../shared/ui/form-trouble.js';
import { notifyDone } from '../../shared/ui/notify.js';
import classes from './accelerators.module.css';
import { LOADS, POLICIES } from './load-choices.js';
import { slotChoices, useNfLabel } from './move-dialog.js';
import type { BoardNf } from './nfs.js';
import {
  BOUNDS,
  draftOfPolicy,
  METRIC_UNITS,
  type Metric,
  NEW_POLICY,
  type PolicyDraft,
  policyProblems,
  policyRequest,
} from './policy-draft.js';

interface PolicyFormProps {
  /** Null: a new one. */
  readonly policy: ReconfigurationPolicy | null;
  readonly boards: readonly Accelerator[];
  readonly nfs: readonly BoardNf[];
  readonly onClose: () => void;
}

const POINTERS: Readonly<Record<string, string>> = {
  title: '/title',
  nf: '/nf',
  metric: '/threshold/metric',
  up: '/threshold/up',
  down: '/threshold/down',
  for_s: '/threshold/for_s',
  displaces: '/displaces',
  slot: '/slot',
  priority: '/priority',
  cooldown_s: '/cooldown_s',
};

/** When an NF moves to a board by itself, and when it gives it back. */
export default function PolicyForm({ policy, boards, nfs, onClose }: PolicyFormProps) {
  const [draft, setDraft] = useState<PolicyDraft>(() => (policy ? draftOfPolicy(policy) : NEW_POLICY));
  const [tried, setTried] = useState(false);
  const queries = useQueryClient();
  const nfLabel = useNfLabel();
  const set = (change: Partial<PolicyDraft>) => setDraft((before) => ({ ...before, ...change }));
  const save = useMutation({
    mutationFn: () => {
      const body = policyRequest(draft);
      return policy
        ? call('putReconfigurationPolicy', { params: { id: policy.id }, body })
        : call('createReconfigurationPolicy', { body }, { idempotencyKey: crypto.randomUUID() });
    },
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ['reconfiguration-policies'] });
      notifyDone(policy ? 'The policy was changed.' : 'The policy was added.');
      onClose();
    },
  });
  const problems = policyProblems(draft);
  const errorOf = (name: string) =>
    (tried ? problems[name] : undefined) ?? fieldErrorOf(save.error, POINTERS[name] ?? `/${name}`);
  const submit = () => {
    setTried(true);
    if (Object.keys(problems).length === 0) save.mutate();
    else save.reset();
  };
  const { suffix } = METRIC_UNITS[draft.metric];
  const number = (name: keyof typeof BOUNDS, label: string, more: { suffix?: string; description?: string }) => (
    <NumberInput
      label={label}
      {...more}
      inputWrapperOrder={['label', 'input', 'description', 'error']}
      min={BOUNDS[name].min}
      max={BOUNDS[name].max}
      clampBehavior="none"
      value={draft[name]}
      error={errorOf(name)}
      onChange={(value) => set({ [name]: value })}
    />
  );
  // An NF whose chain does not run now stays chosen.
  const known = nfs.map((nf) => ({ value: nfKey(nf), label: nfLabel(nf) }));
  const choices = [
    ...known,
    ...[draft.nf, ...draft.displaces]
      .filter((key) => key !== '' && !known.some(({ value }) => value === key))
      .map((key) => ({ value: key, label: `${key.split(' ')[1]} (not deployed)` })),
  ];
  return (
    <FormDialog
      size={640}
      title={policy ? `Policy ${policy.title}` : 'New policy'}
      onClose={onClose}
      onSubmit={submit}
      trouble={<FormTrouble error={save.error} shown={Object.values(POINTERS)} />}
      action={
        <Button type="submit" loading={save.isPending}>
          {policy ? 'Save' : 'Add'}
        </Button>
      }
    >
      <TextInput
        label="Name"
        data-autofocus
        maxLength={80}
        value={draft.title}
        error={errorOf('title')}
        onChange={(event) => set({ title: event.currentTarget.value })}
      />
      <Select
        label="NF that moves to a board when its load grows"
        placeholder={choices.length === 0 ? 'No chain that runs has an NF for boards' : 'NF of a deployed chain'}
        data={choices}
        value={draft.nf || null}
        error={errorOf('nf')}
        onChange={(nf) => set({ nf: nf ?? '', displaces: draft.displaces.filter((key) => key !== nf) })}
      />
      <div className={classes.pair}>
        <Select
          label="Load"
          data={(Object.keys(METRIC_UNITS) as Metric[]).map((value) => ({ value, label: METRIC_UNITS[value].label }))}
          value={draft.metric}
          error={errorOf('metric')}
          onChange={(metric) => metric && set({ metric: metric as Metric, up: '', down: '' })}
        />
        {number('for_s', 'Beyond a threshold for', { suffix: ' s' })}
        {number('up', 'To the board above', { suffix })}
        {number('down', 'Back to software below', { suffix })}
      </div>
      <MultiSelect
        label="May displace"
        description="NFs that may be moved to software to make room."
        placeholder={draft.displaces.length === 0 ? 'Nothing' : undefined}
        data={choices.filter(({ value }) => value !== draft.nf)}
        value={[...draft.displaces]}
        error={errorOf('displaces')}
        onChange={(displaces) => set({ displaces })}
      />
      <Select
        label="Slot"
        placeholder="Any that fits"
        clearable
        data={slotChoices(boards)}
        value={draft.slot || null}
        error={errorOf('slot')}
        onChange={(slot) => set({ slot: slot ?? '' })}
      />
      <div className={classes.pair}>
        <Choice label="Load of the bitstream" choices={LOADS} value={draft.load} onChange={(load) => set({ load })} />
        {draft.load === 'partial' && (
          <Choice
            label="Frames during the load"
            choices={POLICIES}
            value={draft.policy}
            onChange={(policy) => set({ policy })}
          />
        )}
        {number('priority', 'Priority', { description: 'Chains of a higher one must keep their SLOs.' })}
        {number('cooldown_s', 'Rest between two moves', { suffix: ' s' })}
      </div>
      <Switch
        label="Enabled"
        checked={draft.enabled}
        onChange={(event) => set({ enabled: event.currentTarget.checked })}
      />
    </FormDialog>
  );
}
