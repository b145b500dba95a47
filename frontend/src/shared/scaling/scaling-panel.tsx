import { Button } from '@mantine/core';
import { MOST_RANGES, type NfRef, nfInstances, type Plan, type Scaling, type ScalingPolicy } from '@orrery/contract';
import { IconArrowBackUp } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { call } from '../api/client.js';
import { useDeployments, useNfDescriptors, useScalingPolicies, useScalings } from '../api/queries.js';
import { useMay } from '../api/session.js';
import classes from '../splits/splits.module.css';
import { FormTrouble } from '../ui/form-trouble.js';
import { notifyError } from '../ui/notify.js';
import { Reason } from '../ui/reason.js';
import { RelativeTime } from '../ui/relative-time.js';
import { POLICY_STATES, stepText, undoable, waits } from './scaling-words.js';

const ScaleDialog = lazy(() => import('./scale-dialog.js'));
const PolicyDialog = lazy(() => import('./policy-dialog.js'));

interface ScalingPanelProps {
  readonly nf: NfRef;
  /** The plan in force. */
  readonly plan: Plan;
}

const isOf =
  ({ chain_id, node_id }: NfRef) =>
  ({ nf }: { readonly nf: NfRef }) =>
    nf.chain_id === chain_id && nf.node_id === node_id;

/** How many instances an NF has, what changes that now, and the ways to change it by hand or by a policy. */
export function ScalingPanel({ nf, plan }: ScalingPanelProps) {
  const { data: deployments } = useDeployments();
  const scalings = useScalings();
  const policies = useScalingPolicies();
  const mayOperate = useMay('operator');
  const [open, setOpen] = useState<{ to: number; undo: Scaling | null } | 'policy' | null>(null);
  const close = () => setOpen(null);
  const { data: descriptors } = useNfDescriptors();
  const instances = nfInstances(plan.graph).filter((it) => it.chain_id === nf.chain_id && it.node_id === nf.node_id);
  const count = instances.length;
  const descriptor = descriptors?.find(({ id }) => id === instances[0]?.nf);
  const most = Math.min(MOST_RANGES, descriptor?.scaling.max_instances ?? MOST_RANGES);
  const deployment = deployments?.find(({ chain_id }) => chain_id === nf.chain_id);
  const inChain = (scalings.data ?? []).filter((it) => it.nf.chain_id === nf.chain_id);
  const own = inChain.filter(isOf(nf));
  const running = inChain.find(({ state }) => state === 'running');
  const policy = (policies.data ?? []).find(isOf(nf)) ?? null;
  const last = undoable(own, count);
  const isChanging = deployment?.state === 'deploying' || deployment?.state === 'undeploying';
  const obstacle = running
    ? `${running.nf.node_id} is being scaled.`
    : isChanging || !deployment
      ? 'The chain is being changed.'
      : null;
  const full = count >= most ? `It may have no more than ${most} instance${most === 1 ? '' : 's'}.` : null;
  if (count === 0) return null;
  return (
    <>
      <p className={classes.note}>
        {count} instance{count === 1 ? '' : 's'}. <PolicyText policy={policy} />
      </p>
      <FormTrouble error={scalings.error ?? policies.error} shown={[]} />
      {running && isOf(nf)(running) && <UnderWay scaling={running} mayStop={mayOperate} />}
      {mayOperate && (
        <div className={classes.row}>
          {last && obstacle === null && (
            <>
              <span className="muted">
                {last.from} to {last.to} <RelativeTime t_ms={last.ended_ms!} />, by {last.by}
              </span>
              <Button
                variant="subtle"
                leftSection={<IconArrowBackUp size={14} aria-hidden />}
                onClick={() => setOpen({ to: last.from, undo: last })}
              >
                Undo
              </Button>
            </>
          )}
          <Reason of={obstacle ?? full}>
            <Button
              variant="default"
              disabled={obstacle !== null || full !== null}
              onClick={() => setOpen({ to: count + 1, undo: null })}
            >
              Scale out…
            </Button>
          </Reason>
          <Reason of={obstacle ?? (count === 1 ? 'It has one instance.' : null)}>
            <Button
              variant="default"
              disabled={obstacle !== null || count === 1}
              onClick={() => setOpen({ to: count - 1, undo: null })}
            >
              Scale in…
            </Button>
          </Reason>
          <Button variant="default" disabled={!policies.data} onClick={() => setOpen('policy')}>
            {policy ? 'Policy…' : 'Scale by load…'}
          </Button>
        </div>
      )}
      <Suspense fallback={null}>
        {open === 'policy' && <PolicyDialog nf={nf} policy={policy} most={most} onClose={close} />}
        {open !== null && open !== 'policy' && deployment && (
          <ScaleDialog
            nf={nf}
            from={count}
            most={most}
            to={open.to}
            flows={open.undo?.flows ?? 'keep'}
            undo={open.undo !== null}
            version={deployment.version}
            plan={plan}
            onClose={close}
          />
        )}
      </Suspense>
    </>
  );
}

function PolicyText({ policy }: { readonly policy: ScalingPolicy | null }) {
  if (!policy) return <>Their number does not follow the load.</>;
  const { min_instances, max_instances, state, unjudged, refusal } = policy;
  return (
    <>
      By load from {min_instances} to {max_instances}: {POLICY_STATES[state]}
      {unjudged === null ? '' : `: ${unjudged}`}.{refusal !== null && ` ${refusal}`}
    </>
  );
}

/** What a change does now, and the way to stop it while it waits. */
function UnderWay({ scaling, mayStop }: { readonly scaling: Scaling; readonly mayStop: boolean }) {
  const queries = useQueryClient();
  const stop = useMutation({
    mutationFn: () => call('cancelScaling', { params: { id: scaling.id } }),
    onError: (error) => notifyError('The change was not stopped', error),
    onSettled: () => queries.invalidateQueries({ queryKey: ['scalings'] }),
  });
  return (
    <div className={classes.row} role="status">
      <span>
        {scaling.from === scaling.to ? '' : `From ${scaling.from} to ${scaling.to}: `}
        {stepText(scaling)}
      </span>
      {mayStop && waits(scaling) && (
        <Button variant="subtle" loading={stop.isPending} onClick={() => stop.mutate()}>
          Stop
        </Button>
      )}
    </div>
  );
}
