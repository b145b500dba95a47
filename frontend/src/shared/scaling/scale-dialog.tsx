import { NumberInput } from '@mantine/core';
import type { NfRef, NfSplit, Plan, ScaledFlows, ScalingPreview } from '@orrery/contract';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../api/client.js';
import { PlanDialog } from '../chain/plan-dialog.js';
import { planOptionsOf } from '../chain/plan-options.js';
import { type Entry, numberProblem } from '../format/number.js';
import { KEPT } from '../plan/move-plan.js';
import { Choice } from '../ui/choice.js';
import { FormTrouble, fieldErrorOf } from '../ui/form-trouble.js';
import { plannedStepText } from './scaling-words.js';

interface ScaleDialogProps {
  readonly nf: NfRef;
  readonly from: number;
  /** How many it may have. */
  readonly most: number;
  /** What is offered first. */
  readonly to: number;
  readonly flows: ScaledFlows;
  /** Takes an earlier change back. */
  readonly undo: boolean;
  /** The version that runs. */
  readonly version: number;
  /** The plan in force. */
  readonly plan: Plan;
  readonly onClose: () => void;
}

const FLOWS = [
  {
    value: 'keep',
    label: 'Stay',
    says: 'Flows in progress stay at their instances until they end; new ones follow the ranges.',
  },
  { value: 'migrate', label: 'Move', says: 'Flows in progress move with their state to the instance of their range.' },
] as const;
const DRAIN_S = 300;

/** Another number of instances: shows its steps and the plan in which it ends, and begins it on consent. */
export default function ScaleDialog(props: ScaleDialogProps) {
  const { nf, from, most, to, undo, version, plan, onClose } = props;
  const { chain_id, node_id } = nf;
  const queries = useQueryClient();
  const [instances, setInstances] = useState<Entry>(to);
  const [flows, setFlows] = useState(props.flows);
  const problem = numberProblem({ min: 1, max: most, whole: true, unit: 'instances' }, instances);
  const count = problem ? from : Number(instances);
  const isChange = count !== from;
  const body = { node_id, instances: count, flows, drain_s: DRAIN_S };
  const preview = useQuery({
    ...KEPT,
    queryKey: ['scaling-preview', plan.id, chain_id, JSON.stringify(body)],
    enabled: isChange,
    queryFn: ({ signal }) => call('previewScaling', { params: { chain_id }, body }, { signal }),
  });
  const requestOf = (split: NfSplit) => ({
    chains: [{ chain_id, version, splits: [split] }],
    ...planOptionsOf(plan, {}),
  });
  const requests = (preview.data?.splits ?? []).map(requestOf);
  const verb = count < from ? 'Scale in' : count > from ? 'Scale out' : 'Scale';
  const takesBack = undo && count === to;
  const begin = async () => {
    const options = { idempotencyKey: crypto.randomUUID() };
    const operation = await call('scaleDeployment', { params: { chain_id }, body }, options);
    void queries.invalidateQueries({ queryKey: ['scalings'] });
    return operation;
  };
  return (
    <PlanDialog
      title={takesBack ? `Undo: ${to} instance${to === 1 ? '' : 's'} of ${node_id}` : `${verb}: ${node_id}`}
      confirm={takesBack ? 'Undo' : verb}
      request={requests.at(-1) ?? null}
      before={requests.length > 1 ? { request: requests[0]!, headings: ['First', 'Then'] } : undefined}
      ask={{
        label: preview.error ? 'Try again' : 'Show the plan',
        hint: !isChange
          ? `Another number than ${from}, from 1 to ${most}.`
          : preview.isFetching
            ? 'Looking for its steps…'
            : 'There is no plan of what is refused.',
        onAsk: () => {
          if (isChange) void preview.refetch();
        },
      }}
      trouble={<FormTrouble error={preview.isFetching ? null : preview.error} shown={['/instances']} />}
      deploy={begin}
      onClose={onClose}
    >
      <NumberInput
        label="Instances"
        description={`${from} now`}
        min={1}
        max={most}
        clampBehavior="none"
        value={instances}
        error={problem ?? fieldErrorOf(preview.error, '/instances')}
        onChange={setInstances}
      />
      <p className="muted">
        Instances are numbered from 0: the one with the highest number goes first, and its number is the next to be
        given again. A further number, as in {node_id}.0-3, grows by one whenever that instance moves to another place.
      </p>
      <Choice label="Flows in progress" choices={FLOWS} value={flows} onChange={setFlows} />
      {count < from && (
        <p className="muted">
          The instances with the highest numbers go. They get no new flows, and wait up to {DRAIN_S} s for theirs to
          end; those that are left then are lost and counted.
        </p>
      )}
      {preview.data && preview.data.steps.length > 1 && <Steps preview={preview.data} />}
    </PlanDialog>
  );
}

/** What happens one after the other, where it is more than one thing. */
function Steps({ preview: { steps, splits, idle_timeout_s } }: { readonly preview: ScalingPreview }) {
  const planned = { idle_timeout_s, drain_s: DRAIN_S, isStaged: splits.at(-1)?.staged?.held !== undefined };
  return (
    <div className="muted">
      <p>It goes in {steps.length} steps:</p>
      <ol>
        {steps.map((step) => (
          <li key={step}>{plannedStepText(step, planned)}</li>
        ))}
      </ol>
    </div>
  );
}
