import { Button } from '@mantine/core';
import type { Deployment, Plan } from '@orrery/contract';
import { IconArrowBackUp } from '@tabler/icons-react';
import { lazy, Suspense, useState } from 'react';
import { useOperations } from '../api/queries.js';
import { useMay } from '../api/session.js';
import { DEPLOYMENT } from '../plan/deployment-choices.js';
import { Reason } from '../ui/reason.js';
import { RelativeTime } from '../ui/relative-time.js';
import { RUN_WORDS, type RunDimension, type RunRequest, runOptionsOf } from './run-options.js';
import { lastSwitch } from './run-switches.js';
import classes from './switch-run.module.css';

const SwitchDialog = lazy(() => import('./switch-dialog.js'));

interface SwitchRunProps {
  readonly deployment: Deployment;
  /** The plan in force. */
  readonly plan: Plan;
  readonly title: string;
  readonly dimension: RunDimension;
  /** Why the other way would change nothing; null: it would. */
  readonly pointless?: string | null;
}

/** Changes how a running chain runs, by a plan that is shown first; and takes the last such change back. Nothing for viewers. */
export function SwitchRun({ deployment, plan, title, dimension, pointless = null }: SwitchRunProps) {
  const mayOperate = useMay('operator');
  const { data: operations } = useOperations();
  const [request, setRequest] = useState<RunRequest | null>(null);
  if (!mayOperate) return null;
  const now = runOptionsOf(plan, deployment.chain_id)[dimension];
  const others = DEPLOYMENT[dimension].choices.filter(({ value }) => value !== now);
  const isChanging = deployment.state === 'deploying' || deployment.state === 'undeploying';
  const obstacle = isChanging ? 'The chain is being changed.' : pointless;
  const last = operations ? lastSwitch(operations.items, deployment.chain_id) : null;
  const isOwn = last?.isLatest && last.before[dimension] !== now && last.after[dimension] === now;
  const undoable = isOwn ? last : null;
  return (
    <div className={classes.switch}>
      {undoable && !isChanging && (
        <>
          <span className="muted">
            {RUN_WORDS[dimension][undoable.after[dimension]]?.runs} since{' '}
            <RelativeTime t_ms={undoable.operation.updated_ms} />, by {undoable.operation.by}
          </span>
          <Button
            variant="subtle"
            leftSection={<IconArrowBackUp size={14} aria-hidden />}
            onClick={() =>
              setRequest({
                title: `Undo: run ${title} as before`,
                confirm: 'Undo',
                version: undoable.version,
                options: undoable.before,
              })
            }
          >
            Undo
          </Button>
        </>
      )}
      {others.map(({ value }) => {
        const { does } = RUN_WORDS[dimension][value]!;
        return (
          <Reason key={value} of={obstacle}>
            <Button
              variant="default"
              disabled={obstacle !== null}
              onClick={() =>
                setRequest({
                  title: `${does}: ${title}`,
                  confirm: does,
                  version: deployment.version,
                  options: { [dimension]: value },
                })
              }
            >
              {does}
            </Button>
          </Reason>
        );
      })}
      {request && (
        <Suspense fallback={null}>
          <SwitchDialog request={request} chainId={deployment.chain_id} plan={plan} onClose={() => setRequest(null)} />
        </Suspense>
      )}
    </div>
  );
}
