import { Button, Switch } from '@mantine/core';
import { KeepFlows, type NfSplit, type Plan, type PlannedSplit, type StagedSplit } from '@orrery/contract';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError, call, callFull } from '../api/client.js';
import { PlanDialog } from '../chain/plan-dialog.js';
import { planOptionsOf } from '../chain/plan-options.js';
import { quantityText } from '../format/quantity.js';
import { shareOfHash } from '../plan/splits.js';
import { FormTrouble } from '../ui/form-trouble.js';
import { areLimits, KeepLimits, type LimitEntries } from './keep-limits.js';
import { RangeEditor } from './range-editor.js';
import { cutOf, evenly, rangesOf } from './range-edits.js';
import classes from './splits.module.css';
import { stageText } from './stage-text.js';
import { inStep, keptInSteps } from './staged-wish.js';

interface SplitDialogProps {
  readonly title: string;
  readonly split: PlannedSplit;
  /** The version that runs. */
  readonly version: number;
  /** The plan in force. */
  readonly plan: Plan;
  /** Planned at once; null: what the user sets. */
  readonly asked: NfSplit | null;
  readonly onClose: () => void;
}

/** A switch spends a table entry on each flow. */
const DEFAULT_KEEP = { engine: KeepFlows.parse({}), switch: KeepFlows.parse({ capacity: 1024 }) };

/** New ranges of an NF's instances: shows the plan of the change, and deploys that plan on consent. */
export default function SplitDialog({ title, split, version, plan: base, asked: given, onClose }: SplitDialogProps) {
  const { chain_id, node_id, targets } = split;
  const instances = targets.map(({ instance_id }) => instance_id);
  const [cut, setCut] = useState(() => cutOf(given?.ranges ?? targets.map(({ range }) => range)));
  const planned = base.chains.find((it) => it.chain_id === chain_id)?.splits?.find((it) => it.node_id === node_id);
  const [keep, setKeep] = useState<LimitEntries | null>(
    given?.keep_flows === undefined ? keptInSteps(split.keep_flows, planned) : given.keep_flows,
  );
  const [asked, setAsked] = useState(given);
  const [conflict, setConflict] = useState(false);
  const [invalid, setInvalid] = useState(false);
  const read = useReadSplit(chain_id, node_id);
  const staged = read.data?.data.staged;
  /** What is asked, in the step in which the split is, unless flows are to lose their state. */
  const wanted =
    asked && read.data
      ? inStep(
          asked,
          staged,
          read.data.data.targets.map(({ range }) => range),
        )
      : asked;
  const edit =
    <T,>(set: (value: T) => void) =>
    (value: T) => {
      set(value);
      setAsked(null);
    };
  const editKeep = edit(setKeep);
  const editCut = edit(setCut);
  /** Only where nobody has changed it since this dialog was opened. */
  const deploy = async ({ id }: Plan) => {
    const { node_id: _, ...body } = wanted!;
    try {
      return await call(
        'putSplit',
        { params: { chain_id, node_id }, body: { ...body, plan_id: id } },
        { ifMatch: read.data!.etag!, idempotencyKey: crypto.randomUUID() },
      );
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 412) throw error;
      setConflict(true);
      return null;
    }
  };
  const startAnew = async () => {
    const { data } = await read.refetch();
    if (!data) return;
    setCut(cutOf(data.data.targets.map(({ range }) => range)));
    setKeep(keptInSteps(data.data.keep_flows, { keep_flows: planned?.keep_flows, staged: data.data.staged }));
    setAsked(null);
    setConflict(false);
  };
  const trouble = conflict ? (
    <div role="alert" className={classes.conflict}>
      <p>
        Somebody has changed how the flows of {node_id} are split since you opened this. Nothing of yours was deployed.
      </p>
      <Button variant="default" loading={read.isFetching} onClick={() => void startAnew()}>
        Start from the ranges as they are now
      </Button>
    </div>
  ) : (
    <FormTrouble error={read.error} shown={[]} />
  );
  return (
    <PlanDialog
      title={title}
      confirm="Deploy"
      request={
        wanted && read.data && !conflict
          ? { chains: [{ chain_id, version, splits: [wanted] }], ...planOptionsOf(base, {}) }
          : null
      }
      ask={{
        label: 'Show the plan',
        hint: 'The plan of the change is shown here before it is deployed.',
        onAsk: () => areLimits(keep) && setAsked({ node_id, ranges: rangesOf(cut), keep_flows: keep }),
      }}
      deploy={deploy}
      trouble={trouble}
      invalid={invalid || !areLimits(keep)}
      onClose={onClose}
    >
      <RangeEditor instances={instances} cut={cut} onChange={editCut} onInvalid={setInvalid} />
      <div className={classes.row}>
        <Button variant="default" onClick={() => editCut(evenly(cut))}>
          Split evenly
        </Button>
        <span className="muted">
          {rangesOf(cut)
            .map((range, i) => `${instances[i]} ${quantityText('share', shareOfHash([range]))} of the hash range`)
            .join(', ')}
        </span>
      </div>
      <Switch
        label="Flows in progress stay at their instance"
        checked={keep !== null}
        onChange={({ currentTarget: { checked } }) =>
          editKeep(checked ? (keptInSteps(split.keep_flows, planned) ?? DEFAULT_KEEP[split.at]) : null)
        }
      />
      {keep && <KeepLimits entries={keep} onChange={editKeep} />}
      {staged && (
        <p className={classes.note} role="status">
          {stageText(staged)} {stepText(staged, keep !== null)}
        </p>
      )}
      {keep && !split.keep_flows && !staged && (
        <p className={classes.note} role="status">
          Flows are not tracked yet: those in progress now follow the new ranges, and stay from then on. To keep them,
          deploy this first with the ranges as they are.
        </p>
      )}
    </PlanDialog>
  );
}

/** What a change of the ranges does to a split in steps. */
function stepText({ held, idle_timeout_s }: StagedSplit, keeps: boolean): string {
  if (!keeps) return 'Without flows that stay, its steps end here: those in progress lose their state.';
  if (held) return 'Its steps go on with the new ranges.';
  return `No engine knows the flows in progress. Other ranges therefore begin with tracking: this deploys the ranges as they are, with engines behind the switches that get to know the flows; change the ranges again ${idle_timeout_s} s later.`;
}

/** The split as it was when the dialog was opened, with the ETag that its change must find. */
function useReadSplit(chain_id: string, node_id: string) {
  return useQuery({
    queryKey: ['split', chain_id, node_id],
    queryFn: ({ signal }) => callFull('getSplit', { params: { chain_id, node_id } }, { signal }),
    staleTime: 'static',
    gcTime: 0,
  });
}
